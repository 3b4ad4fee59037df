/// The `traceparent` header of W3C Trace Context, with the `tracestate` beside it: carried along so that a trace does not
/// end here.
public struct TraceParent: Hashable, Sendable {
    /// The header as it came.
    public let text: String
    /// The other header as it came; nil where there is none, or an ill-formed one.
    public let state: String?

    /// Takes a header of version 00 (or a later one that looks the same); nil for anything else, which a receiver has
    /// to ignore rather than to refuse.
    public init?(validating text: String, state: String? = nil) {
        let isWellFormed = text.withBytes { bytes -> Bool in
            guard bytes.count == 55, [2, 35, 52].allSatisfy({ bytes[$0] == UInt8(ascii: "-") }) else { return false }
            let digits = [0..<2, 3..<35, 36..<52, 53..<55].map { bytes[$0] }
            let isHexadecimal = digits.allSatisfy { $0.allSatisfy { IdentifierRules.hexadecimalDigit($0) != nil } }
            guard isHexadecimal, !digits[0].allSatisfy({ $0 == UInt8(ascii: "f") }) else { return false }
            return digits[1...2].allSatisfy { part in part.contains { $0 != UInt8(ascii: "0") } }
        }
        guard isWellFormed else { return nil }
        self.text = text
        self.state = state.flatMap { TraceState.isValid($0) ? $0 : nil }
    }
}

extension TraceParent {
    /// What the headers, the attributes of CloudEvents and the members of a body are called.
    enum Name {
        static let parent = "traceparent"
        static let state = "tracestate"
    }
}
