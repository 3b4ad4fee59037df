/// The origin of a page, as in the browsers' header `Origin`: `https://app.example.com`, `http://localhost:3000`.
package struct WebOrigin: Hashable, Sendable, CustomStringConvertible {
    package let text: String

    /// Reads a scheme and a host with its port, in the browsers' form: small letters, no path, no `*`.
    package init?(_ text: String) {
        guard let scheme = ["https://", "http://"].first(where: text.hasPrefix) else { return nil }
        let host = text.utf8.dropFirst(scheme.utf8.count)
        let allowed = "abcdefghijklmnopqrstuvwxyz0123456789.-:[]".utf8
        guard (1...255).contains(host.count), host.allSatisfy(allowed.contains) else { return nil }
        self.text = text
    }

    package var description: String { text }
}
