/// The rules for the address of a provider's service.
enum ServiceAddress {
    /// Returns whether `text` is an `https` URL with a host and without characters that could break a request line.
    ///
    /// User names are rejected, because their password would be logged. Queries and fragments are rejected, because
    /// paths are appended.
    static func isSecure(_ text: String) -> Bool {
        let scheme = "https://"
        guard text.hasPrefix(scheme), text.utf8.count <= 2048 else { return false }
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !"@?#\"<>\\".utf8.contains($0) }) else { return false }
        let host = text.utf8.dropFirst(scheme.utf8.count).prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: ":") }
        return !host.isEmpty
    }
}
