/// The address at which a push service takes messages for one browser, judged by its text alone.
///
/// It comes from strangers, and the server will send to it; so it must be plain: a name and never an address in
/// numbers, no user, no fragment. Which names are good, and where they lead, is for the sender to judge.
public struct WebPushEndpoint: Hashable, Sendable {
    /// The host's name in small letters.
    public let host: String

    /// 443 unless the text says otherwise.
    public let port: UInt16

    /// What an endpoint looks like, for messages.
    public static let rule = "an https URL of at most \(longest) bytes with a host's name, without user and fragment"

    static let longest = 2048

    /// Takes a text that keeps the rule, nil otherwise.
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

    /// Scheme, host and port, the port only where it is not the usual one: what a VAPID token is addressed to.
    public var origin: String {
        port == 443 ? "https://\(host)" : "https://\(host):\(port)"
    }

    /// Visible ASCII without what parsers disagree about.
    private static func isPlain(_ byte: UInt8) -> Bool {
        byte > 0x20 && byte < 0x7F && !"\\\"<>#^`{|}".utf8.contains(byte)
    }

    /// Labels of letters, digits and hyphens; the last one begins with a letter, which no address in numbers does.
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
