/// The address at which a push service accepts messages for one browser, validated by its text alone.
///
/// The address is untrusted input, and the server will send requests to it, so it must have a simple form. It has a
/// host name, never a numeric address, and neither user nor fragment. The sender decides which names are allowed and
/// checks their addresses.
public struct WebPushEndpoint: Hashable, Sendable {
    /// The host name in lower case.
    public let host: String

    /// The port; 443 if the text names none.
    public let port: UInt16

    /// The required form of an endpoint, for messages.
    public static let rule = "an https URL of at most \(longest) bytes with a host's name, without user and fragment"

    static let longest = 2048

    /// Creates an endpoint from text; `nil` if the text violates the rule.
    public init?(validating text: String) {
        let scheme = "https://".utf8
        let bytes = text.utf8
        guard bytes.count <= Self.longest, bytes.starts(with: scheme), bytes.allSatisfy(Self.isPlain) else {
            return nil
        }
        let rest = bytes.dropFirst(scheme.count)
        let authority = rest.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        guard rest.dropFirst(authority.count).first == UInt8(ascii: "/") else { return nil }
        let parts = authority.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard let name = parts.first.map(Array.init), parts.count <= 2, Self.isName(name) else { return nil }
        guard let port = parts.count == 2 ? Self.port(parts[1]) : 443 else { return nil }
        host = String(decoding: name, as: UTF8.self).lowercased()
        self.port = port
    }

    /// The scheme, host and port, without the default port; a VAPID token is addressed to it.
    public var origin: String { port == 443 ? "https://\(host)" : "https://\(host):\(port)" }

    /// Returns whether a byte is visible ASCII and not one that URL parsers interpret differently.
    private static func isPlain(_ byte: UInt8) -> Bool {
        byte > 0x20 && byte < 0x7F && !"\\\"<>#^`{|}".utf8.contains(byte)
    }

    /// Returns whether the name consists of labels of letters, digits and hyphens.
    ///
    /// The last label begins with a letter, which excludes numeric addresses.
    private static func isName(_ name: [UInt8]) -> Bool {
        guard name.count <= 253 else { return false }
        let labels = name.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let areLabels = labels.allSatisfy { label in
            (1...63).contains(label.count) && label.first != UInt8(ascii: "-") && label.last != UInt8(ascii: "-")
                && label.allSatisfy {
                    IdentifierRules.isLetter($0) || IdentifierRules.isDigit($0) || $0 == UInt8(ascii: "-")
                }
        }
        return areLabels && labels.last?.first.map(IdentifierRules.isLetter) == true
    }

    private static func port(_ digits: Substring.UTF8View) -> UInt16? {
        guard (1...5).contains(digits.count), digits.allSatisfy(IdentifierRules.isDigit),
            let port = UInt16(String(Substring(digits))), port > 0
        else { return nil }
        return port
    }
}
