/// The source of the values for the placeholders of templates.
protocol PlaceholderValues {
    /// Returns a value; `nil` if there is none.
    func value(of source: ValueSource) -> JSONValue?

    /// Appends a string that is not empty, or a number as written, to a text; `false` for all other values.
    func append(_ source: ValueSource, to text: inout [UInt8], _ quoting: Template.Quoting) -> Bool
}

/// Values from a JSON tree.
struct TemplateValues: PlaceholderValues {
    let data: JSONObject
    var targetID: String?
    var venueID: String?

    func value(of source: ValueSource) -> JSONValue? {
        switch source {
        case .targetID: return targetID.map(JSONValue.string)
        case .venueID: return venueID.map(JSONValue.string)
        case .data(let path):
            var value = data[path[0]]
            for step in path.dropFirst() { value = value?[step] }
            return value
        }
    }

    func append(_ source: ValueSource, to text: inout [UInt8], _ quoting: Template.Quoting) -> Bool {
        switch value(of: source) {
        case .string(let word)? where !word.isEmpty: word.withBytes { quoting.append($0, to: &text) }
        case .number(let number)?: number.text.withBytes { quoting.append($0, to: &text) }
        default: return false
        }
        return true
    }
}

extension TemplateValues {
    init(_ content: EventContent) {
        self.init(data: content.data, targetID: content.targetID, venueID: content.venueID)
    }
}

extension Template.Quoting {
    /// Appends a value to a text.
    func append(_ value: UnsafeBufferPointer<UInt8>, to text: inout [UInt8]) {
        let unreserved = Self.unreserved
        func isPlain(_ byte: UInt8) -> Bool { byte < 0x80 && unreserved[Int(byte >> 6)] >> (byte & 63) & 1 == 1 }
        guard self == .link, !value.allSatisfy(isPlain) else { return text.append(contentsOf: value) }
        for byte in value {
            if isPlain(byte) {
                text.append(byte)
            } else {
                text += [UInt8(ascii: "%"), Self.hexadecimal(byte >> 4), Self.hexadecimal(byte & 0x0F)]
            }
        }
    }

    /// A bit for each byte without a meaning in a link: letters, digits, `-`, `.`, `_` and `~`.
    private static let unreserved: SIMD2<UInt64> = {
        var bits = SIMD2<UInt64>()
        for byte in UInt8(0)..<0x80
        where IdentifierRules.isLetter(byte) || IdentifierRules.isDigit(byte) || "-._~".utf8.contains(byte) {
            bits[Int(byte >> 6)] |= 1 << UInt64(byte & 63)
        }
        return bits
    }()

    private static func hexadecimal(_ digit: UInt8) -> UInt8 {
        digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "A") + digit - 10
    }
}
