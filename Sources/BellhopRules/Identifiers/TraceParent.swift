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

    /// The names of the headers, CloudEvents attributes and body members.
    enum Name {
        static let parent = "traceparent"
        static let state = "tracestate"
    }
}

/// The `tracestate` header of W3C Trace Context, in which earlier systems record their own data about a trace.
enum TraceState {
    /// Returns whether a header is well-formed.
    ///
    /// An ill-formed one is dropped as a whole, and its `traceparent` stays.
    static func isValid(_ text: String) -> Bool {
        guard text.utf8.count <= 512 else { return false }
        let members = text.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
            .map { $0.trimmingBlanks }
            .filter { !$0.isEmpty }
        guard (1...32).contains(members.count) else { return false }
        let keys = members.map { $0.prefix { $0 != UInt8(ascii: "=") } }
        guard Set(keys.map { String(Substring($0)) }).count == keys.count else { return false }
        return zip(members, keys).allSatisfy { member, key in
            isKey(key) && isValue(member.dropFirst(key.count))
        }
    }

    private static func isKey(_ key: Substring.UTF8View) -> Bool {
        guard let first = key.first, isLetter(first) || isDigit(first), key.count <= 256 else { return false }
        return key.allSatisfy { isLetter($0) || isDigit($0) || "_-*/@".utf8.contains($0) }
    }

    /// Returns whether the value, including the equals sign before it, is valid.
    private static func isValue(_ value: Substring.UTF8View) -> Bool {
        guard value.first == UInt8(ascii: "="), value.count <= 257 else { return false }
        let text = value.dropFirst()
        return !text.isEmpty && text.allSatisfy { (0x20...0x7E).contains($0) && $0 != 0x2C && $0 != 0x3D }
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte) }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}

extension Substring.UTF8View {
    fileprivate var trimmingBlanks: Substring.UTF8View {
        let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        var rest = drop(while: isBlank)
        while let last = rest.last, isBlank(last) { rest = rest.dropLast() }
        return rest
    }
}
