package import BellhopRules

/// The allowed hosts of push services.
///
/// An endpoint is untrusted input, and the server would send requests to it.
package struct PushServiceHosts: Hashable, Sendable {
    /// The push services of the browsers: Chrome and browsers based on it, Firefox, Edge, Safari.
    package static let known = PushServiceHosts(
        checked: [
            "fcm.googleapis.com", "*.push.services.mozilla.com", "updates.push.services.mozilla.com",
            "*.push.apple.com", "*.notify.windows.com",
        ],
        port: 443
    )

    /// The required form of an entry.
    package static let rule = "a host's name in small letters, or *. before one for every name below it"

    /// The entries; each is a name, or `*.` and a name.
    package let entries: [String]

    /// The only allowed port.
    package let port: UInt16

    private init(checked entries: [String], port: UInt16) {
        self.entries = entries
        self.port = port
    }

    /// Creates the hosts; `nil` if an entry violates the rule.
    package init?(_ entries: [String], port: UInt16 = 443) {
        guard entries.allSatisfy(Self.isEntry) else { return nil }
        self.init(checked: entries, port: port)
    }

    /// Returns the same hosts with another port.
    package func at(port: UInt16) -> PushServiceHosts {
        PushServiceHosts(checked: entries, port: port)
    }

    /// Returns whether messages may be sent to an endpoint.
    ///
    /// Only whole labels of the host name are compared, never parts of them.
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
