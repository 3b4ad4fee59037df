import Cryptography

/// What makes two dead letters "the same trouble": stage, reason, provider and the error less its particulars.
enum DeadLetterFingerprint {
    /// 16 hex digits.
    static func of(_ cause: DeadLetterCause) -> String {
        let trouble = [cause.stage.rawValue, cause.reason, cause.provider ?? "-", normalised(cause.error)]
        let text = trouble.joined(separator: "\u{0}")
        return SHA256.digest(of: Array(text.utf8)).hexPrefix(bytes: 8)
    }

    /// The error with every run of digits as `#` and every quoted part as `'…'`, at most 200 characters: item 7 and
    /// item 8 of the same fault belong to one group.
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
    /// The group that it belongs to.
    var fingerprint: String { DeadLetterFingerprint.of(cause) }
}
