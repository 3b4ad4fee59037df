package import BellhopRules
package import Cryptography
package import HTTPTransfer

/// A sender's requirements for its transport; senders with equal requirements share one.
package struct TransportNeed: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// An app's pushes to a provider that uses HTTP/2 and accepts thousands of requests per second.
        case pushes(AppID)
        /// Pushes with the key of this fingerprint, to a provider that ties each connection to one key.
        ///
        /// Until it has verified the key, it accepts one request.
        case pushesOfKey(Digest)
        /// Rare requests over any version of HTTP, such as to token endpoints.
        case errands
    }

    package let kind: Kind
    /// Separates senders that must not share connections.
    package let endpoint: String
    package let reach: ProviderConfiguration.ConnectionSettings

    /// The name of the transport's thread.
    package let name: String

    /// The addresses to which connections are allowed.
    package var addressPolicy = AddressPolicy.any

    /// The number of hosts that fill the window: with 4, each gets at most a quarter.
    ///
    /// If untrusted clients choose the hosts, a slow host must not take the window from the others.
    package var hostsPerWindow = 1

    /// The number of bytes of an answer that are kept; `nil` for the size of single answers.
    package var longestAnswer: Int?

    /// Opens such a transport; no connection is established yet.
    package func open() throws(TransferError) -> any HTTPTransport {
        switch kind {
        case .pushes: return try openForPushes(warmsUp: false)
        case .pushesOfKey: return try openForPushes(warmsUp: true)
        case .errands:
            var options = CurlTransportOptions(name: name)
            // Requests to different hosts must not wait for each other, and each takes a connection.
            options.connections = reach.window
            options.authoritiesFile = reach.authoritiesFile
            return try CurlTransport(options)
        }
    }

    private func openForPushes(warmsUp: Bool) throws(TransferError) -> any HTTPTransport {
        var options = HTTP2TransportOptions(name: name)
        options.maxConnectionsPerHost = reach.connections
        options.window = reach.window
        options.authoritiesFile = reach.authoritiesFile
        options.addressPolicy = addressPolicy
        options.warmsUp = warmsUp
        if let longestAnswer { options.bodyLimit = longestAnswer }
        if hostsPerWindow > 1 {
            options.maxConcurrentStreams = max(1, reach.window / (hostsPerWindow * reach.connections))
        }
        return try HTTP2Transport(options)
    }
}
