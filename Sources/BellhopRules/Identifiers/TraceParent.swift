/// The `traceparent` header of W3C Trace Context, with the related `tracestate`.
///
/// Both are passed on, so that a trace does not end at Bellhop.
public struct TraceParent: Hashable, Sendable {
    /// The header as received.
    public let text: String
    /// The `tracestate` header as received; `nil` if it is absent or ill-formed.
    public let state: String?

    /// Reads a header of version 00, or of a later version with the same form.
    ///
    /// The result is `nil` for any other text, which a receiver must ignore and not reject.
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
    /// The names of the headers, CloudEvents attributes and body members.
    enum Name {
        static let parent = "traceparent"
        static let state = "tracestate"
    }
}
