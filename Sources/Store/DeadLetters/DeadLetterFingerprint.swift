import Cryptography

/// Computes the value that groups dead letters with the same problem, from stage, reason, provider and normalised
/// error.
enum DeadLetterFingerprint {
    /// Returns 16 hex digits.
    static func of(_ cause: DeadLetterCause) -> String {
        let trouble = [cause.stage.rawValue, cause.reason, cause.provider ?? "-", normalised(cause.error)]
        let text = trouble.joined(separator: "\u{0}")
        return SHA256.digest(of: Array(text.utf8)).hexPrefix(bytes: 8)
    }

    /// Replaces every run of digits in the error by `#` and every quoted part by `'…'`, and returns at most 200
    /// characters.
    ///
    /// The same fault at item 7 and at item 8 is therefore one group.
    static func normalised(_ error: String) -> String {
        var result = ""
        var quote: Character?
        for character in error.prefix(400) {
            if let open = quote {
                if character == open {
                    quote = nil
                    result += "'…'"
                }
            } else if character == "'" || character == "\"" {
                quote = character
            } else if character.isASCII, character.isNumber {
                if result.last != "#" { result.append("#") }
            } else {
                result.append(character)
            }
        }
        return String(result.prefix(200))
    }
}

extension DeadLetterItem {
    /// The fingerprint of the item's group.
    var fingerprint: String { DeadLetterFingerprint.of(cause) }
}
