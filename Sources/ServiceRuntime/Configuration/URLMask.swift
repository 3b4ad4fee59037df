/// Hides what is secret in a URL: the password before the host, and passwords in the query.
package enum URLMask {
    /// The URL as it may be shown, such as `amqp://user:***@host/vhost`.
    ///
    /// What is no URL at all becomes `***`, since it may be nothing but the secret. Errs on the safe side: a password with an unescaped `/`, `?` or `@` in it is hidden up to the last `@` of all.
    package static func mask(_ text: String) -> String {
        guard let scheme = text.range(of: "://"), !text[..<scheme.lowerBound].contains("@") else { return "***" }
        let rest = text[scheme.upperBound...]
        guard let at = rest.lastIndex(of: "@"), let colon = rest[..<at].firstIndex(of: ":") else {
            return maskQuery(text).escapingControls()
        }
        let masked = text[..<scheme.upperBound] + rest[..<colon] + ":***" + maskQuery(String(rest[at...]))
        return String(masked).escapingControls()
    }

    private static func maskQuery(_ text: String) -> String {
        guard let mark = text.firstIndex(of: "?") else { return text }
        let items = text[text.index(after: mark)...].split(separator: "&", omittingEmptySubsequences: false)
        let masked = items.map { item -> String in
            let name = item.prefix { $0 != "=" }
            let isSecret = ["password", "passwd", "secret", "token"].contains { name.lowercased().contains($0) }
            return isSecret ? "\(name)=***" : String(item)
        }
        return text[...mark] + masked.joined(separator: "&")
    }
}
