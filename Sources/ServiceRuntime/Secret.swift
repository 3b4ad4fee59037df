import Glibc

/// A text that must not be displayed: printing, dumping or interpolating it shows `<redacted>`.
package struct Secret: Sendable, Hashable {
    /// The text itself.
    ///
    /// Pass it only to the library that needs it.
    package let revealed: String

    package init(_ text: String) { revealed = text }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "<redacted>" }
    package var debugDescription: String { "<redacted>" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// Files that contain a key or a password.
package enum SecretFile {
    /// Whether any user of this machine may read the file or write to it.
    ///
    /// Group permissions are accepted, because an operator chose the group. Files under `/run/secrets` are mounted by a
    /// container's engine with loose permissions, but the container has no other users. The result is `false` if the
    /// file does not exist.
    package static func isOpenToAll(_ path: String) -> Bool {
        var status = stat()
        guard !path.hasPrefix("/run/secrets/"), stat(path, &status) == 0 else { return false }
        return status.st_mode & 0o006 != 0
    }
}

/// Hides secrets in a URL: the password before the host, and passwords in the query.
package enum URLMask {
    /// Returns the URL for display, such as `amqp://user:***@host/vhost`.
    ///
    /// A text that is not a URL becomes `***`, because the whole text may be the secret. The function prefers to hide
    /// too much: a password with an unescaped `/`, `?` or `@` is hidden up to the last `@` of the text.
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
