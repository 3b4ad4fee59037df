package import BellhopRules

/// The hosts at which push services may be: an endpoint comes from a stranger, and the server would send to it.
package struct PushServiceHosts: Hashable, Sendable {
    /// The push services of the browsers: Chrome and its kin, Firefox, Edge, Safari.
    package static let known = PushServiceHosts(
        checked: [
            "fcm.googleapis.com", "*.push.services.mozilla.com", "updates.push.services.mozilla.com",
            "*.push.apple.com", "*.notify.windows.com",
        ],
        port: 443
    )

    /// What an entry looks like.
    package static let rule = "a host's name in small letters, or *. before one for every name below it"

    /// A name, or `*.` and a name.
    package let entries: [String]

    /// The only port.
    package let port: UInt16

    private init(checked entries: [String], port: UInt16) {
        self.entries = entries
        self.port = port
    }

    /// Nil unless every entry keeps the rule.
    package init?(_ entries: [String], port: UInt16 = 443) {
        guard entries.allSatisfy(Self.isEntry) else { return nil }
        self.init(checked: entries, port: port)
    }

    /// The same hosts at another port.
    package func at(port: UInt16) -> PushServiceHosts {
        PushServiceHosts(checked: entries, port: port)
    }

    /// Whether messages may be sent there; goes by whole labels of the host's name, never by parts of them.
    package func allow(_ endpoint: WebPushEndpoint) -> Bool {
        endpoint.port == port
            && entries.contains { entry in
                entry.hasPrefix("*.") ? endpoint.host.hasSuffix(entry.dropFirst()) : endpoint.host == entry
            }
    }

    private static func isEntry(_ entry: String) -> Bool {
        let name = entry.hasPrefix("*.") ? String(entry.dropFirst(2)) : entry
        return WebPushEndpoint(validating: "https://\(name)/")?.host == name
    }
}
