/// The forms of identifiers; `docs/event.schema.json` defines the same for producers.
enum IdentifierRules {
    static func isAppName(_ text: String) -> Bool {
        text.withBytes { bytes in
            guard (1...32).contains(bytes.count), isLowercase(bytes[0]) else { return false }
            return bytes.allSatisfy {
                isLowercase($0) || isDigit($0) || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-")
            }
        }
    }

    static func isTypeName(_ text: String, longest: Int) -> Bool {
        text.withBytes { bytes in
            guard bytes.count >= 1, bytes.count <= longest else { return false }
            return bytes.allSatisfy {
                isLetter($0) || isDigit($0) || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: ".")
                    || $0 == UInt8(ascii: "-")
            }
        }
    }

    /// Returns whether a text is neither empty nor too long and has no control characters (C0, which includes NUL, and
    /// DEL).
    static func isPlain(_ text: String, longest: Int) -> Bool { text.withBytes { isPlain($0, longest: longest) } }

    static func isPlain(_ bytes: UnsafeBufferPointer<UInt8>, longest: Int) -> Bool {
        guard bytes.count >= 1, bytes.count <= longest else { return false }
        let ones: UInt64 = 0x0101_0101_0101_0101
        let raw = UnsafeRawBufferPointer(bytes)
        var index = 0
        var found: UInt64 = 0
        // Eight bytes at a time: the top bit of a byte is set if it is below the space, or DEL. Borrows may set others,
        // but only if one is right.
        while index + 8 <= bytes.count {
            let word = raw.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            let deleted = word ^ (ones &* 0x7F)
            found |= ((word &- ones &* 0x20) & ~word) | ((deleted &- ones) & ~deleted)
            index += 8
        }
        guard found & 0x8080_8080_8080_8080 == 0 else { return false }
        while index < bytes.count {
            if bytes[index] < 0x20 || bytes[index] == 0x7F { return false }
            index += 1
        }
        return true
    }

    /// Returns whether an address is acceptable for a mail relay.
    ///
    /// It has a local part without spaces, quotes, brackets, list separators and control characters, and a domain name
    /// of at least two labels.
    ///
    /// `%` and `!` are excluded, because old relays read routes from them. A leading hyphen is excluded, because a
    /// program may read it as an option. A name of one label would be a mailbox of the relay itself.
    static func isEmailAddress(_ text: String) -> Bool {
        guard isPlain(text, longest: 254) else { return false }
        let parts = text.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
        guard parts.count == 2, (1...64).contains(parts[0].count), parts[0].first != UInt8(ascii: "-") else {
            return false
        }
        return !parts[0].contains { " \"(),:;<>[\\]%!".utf8.contains($0) } && isDomainName(parts[1])
    }

    /// Returns whether a name has at least two labels of letters, digits and inner hyphens.
    ///
    /// The last label does not consist only of digits, which excludes numeric addresses. Bytes beyond ASCII count as
    /// letters, so that names in other alphabets are accepted as written.
    private static func isDomainName(_ name: some Collection<UInt8>) -> Bool {
        let labels = name.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let hyphen = UInt8(ascii: "-")
        guard labels.count >= 2, labels.last?.allSatisfy(isDigit) == false else { return false }
        return labels.allSatisfy { label in
            guard (1...63).contains(label.count), label.first != hyphen else { return false }
            return label.allSatisfy { isLetter($0) || isDigit($0) || $0 == hyphen || $0 >= 0x80 }
                && Array(label).last != hyphen
        }
    }

    static func isLanguageTag(_ text: String) -> Bool {
        guard text.utf8.count <= 35 else { return false }
        let parts = text.utf8.split(omittingEmptySubsequences: false) {
            $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
        }
        guard let language = parts.first, (2...8).contains(language.count), language.allSatisfy(isLetter) else {
            return false
        }
        return parts.dropFirst().allSatisfy { part in
            (1...8).contains(part.count) && part.allSatisfy { isLetter($0) || isDigit($0) }
        }
    }

    /// Returns whether a text is a language without region in its usual spelling, which is the most frequent case.
    static func isPlainLanguage(_ text: String) -> Bool {
        text.withBytes { (2...8).contains($0.count) && $0.allSatisfy(isLowercase) }
    }

    static func isTimeZoneName(_ text: String) -> Bool {
        text.withBytes { bytes in
            guard (1...64).contains(bytes.count), isLetter(bytes[0]) else { return false }
            return bytes.allSatisfy { isLetter($0) || isDigit($0) || "_+-/".utf8.contains($0) }
        }
    }

    static func isLowercase(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "z") }
    static func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }
    static func isLetter(_ byte: UInt8) -> Bool { isLowercase(byte | 0x20) && byte >= UInt8(ascii: "A") }

    /// Returns the value of a hexadecimal digit in lower case; `nil` for any other byte.
    static func hexadecimalDigit(_ byte: UInt8) -> UInt8? {
        if isDigit(byte) { return byte - UInt8(ascii: "0") }
        return byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "f") ? byte - UInt8(ascii: "a") + 10 : nil
    }
}
