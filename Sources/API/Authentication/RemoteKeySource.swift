/// The place from which an issuer's keys are fetched.
package struct RemoteKeySource: Hashable, Sendable {
    /// An `https` URL of a JSON Web Key Set.
    package let url: String
    /// A PEM file with the trusted authorities, used instead of the system's.
    package let authoritiesFile: String?

    package init(url: String, authoritiesFile: String? = nil) {
        self.url = url
        self.authoritiesFile = authoritiesFile
    }

    /// Whether `text` is an `https` URL with a host, without user, fragment and characters that could break a request
    /// line.
    static func isSecure(_ text: String) -> Bool {
        let scheme = "https://"
        guard text.hasPrefix(scheme), text.utf8.count <= 2_048 else { return false }
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !"#\"<>\\".utf8.contains($0) }) else { return false }
        let authority = text.utf8.dropFirst(scheme.utf8.count).prefix { !"/?".utf8.contains($0) }
        return !authority.isEmpty && authority.first != UInt8(ascii: ":") && !authority.contains(UInt8(ascii: "@"))
    }
}
