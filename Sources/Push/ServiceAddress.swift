/// What the address of a provider's service must look like.
enum ServiceAddress {
    /// Whether `text` is an `https` URL with a host, and nothing in it that could break a request line.
    ///
    /// User names are refused, since their password would end up in a log; so are queries and fragments, since paths
    /// are put behind.
    static func isSecure(_ text: String) -> Bool {
        let scheme = "https://"
        guard text.hasPrefix(scheme), text.utf8.count <= 2048 else { return false }
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !"@?#\"<>\\".utf8.contains($0) }) else { return false }
        let host = text.utf8.dropFirst(scheme.utf8.count).prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: ":") }
        return !host.isEmpty
    }
}
