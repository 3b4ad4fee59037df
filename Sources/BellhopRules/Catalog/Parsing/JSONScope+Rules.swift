/// Reads the basic values of catalogues and related documents.
extension JSONScope {
    func identifier<ID: TextIdentifier>(_ key: String, as type: ID.Type = ID.self, required: Bool = true) -> ID? {
        value(key, ID.rule, required: required) { $0.string.flatMap(ID.init(validating:)) }
    }

    /// Reads a non-empty text without control characters.
    func line(_ key: String, longest: Int = 255, required: Bool = false) -> String? {
        text(key, "a non-empty string of one line, at most \(longest) bytes", required: required) {
            IdentifierRules.isPlain($0, longest: longest)
        }
    }

    func color(_ key: String) -> String? {
        text(key, "a colour such as #0B6E35") { text in
            text.utf8.count == 7 && text.hasPrefix("#") && text.dropFirst().allSatisfy { $0.isASCII && $0.isHexDigit }
        }
    }
}
