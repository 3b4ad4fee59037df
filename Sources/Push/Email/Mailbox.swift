/// The sender of a mail: an address that every server supports, and a display name.
package struct Mailbox: Hashable, Sendable {
    /// The display name; may be empty.
    package let name: String

    package let address: String

    /// Reads `Name <local@domain>` or an address alone; `nil` if the address is invalid or the text is too long.
    package init?(_ text: String) {
        let text = text.trimmed
        guard text.utf8.count <= 320 else { return nil }
        guard text.hasSuffix(">"), let open = text.lastIndex(of: "<") else {
            guard Self.isPlainAddress(text) else { return nil }
            (name, address) = ("", text)
            return
        }
        let inside = String(text[text.index(after: open)...].dropLast())
        var name = String(text[..<open]).trimmed
        if name.count >= 2, name.hasPrefix("\""), name.hasSuffix("\"") { name = String(name.dropFirst().dropLast()) }
        guard Self.isPlainAddress(inside), name == MailText.line(name) else { return nil }
        (self.name, address) = (name, inside)
    }

    /// The part after the @.
    package var domain: String { String(address.drop { $0 != "@" }.dropFirst()) }

    /// Returns whether every server in the chain accepts the address without conversion: a dot-atom (RFC 5322 §3.2.3)
    /// at a host name, in ASCII.
    ///
    /// Other forms exist (quoted local parts, SMTPUTF8), but a relay may not support them, and would reject each such
    /// mail.
    package static func isPlainAddress(_ text: String) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
        guard parts.count == 2, (1...64).contains(parts[0].count), (1...189).contains(parts[1].count) else {
            return false
        }
        let atoms = parts[0].split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let labels = parts[1].split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return atoms.allSatisfy { !$0.isEmpty && $0.allSatisfy(isAtomic) } && labels.allSatisfy(isLabel)
    }

    private static func isAtomic(_ byte: UInt8) -> Bool {
        isAlphanumeric(byte) || "!#$%&'*+-/=?^_`{|}~".utf8.contains(byte)
    }

    private static func isLabel(_ label: Substring.UTF8View.SubSequence) -> Bool {
        let hyphen = UInt8(ascii: "-")
        guard (1...63).contains(label.count), label.first != hyphen, label.last != hyphen else { return false }
        return label.allSatisfy { isAlphanumeric($0) || $0 == hyphen }
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        (byte | 0x20 >= UInt8(ascii: "a") && byte | 0x20 <= UInt8(ascii: "z"))
            || (byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9"))
    }
}
