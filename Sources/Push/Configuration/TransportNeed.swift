package import BellhopRules
package import Cryptography
package import HTTPTransfer

/// What a sender asks of the transport under it; senders whose needs are equal share one.
package struct TransportNeed: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// An app's pushes to a provider that speaks HTTP/2 and takes thousands of requests a second.
        case pushes(AppID)
        /// Pushes of whoever has the key of this fingerprint, to a provider that ties each connection to one key, and
        /// takes one request until it knows the key.
        case pushesOfKey(Digest)
        /// Whatever speaks HTTP, seldom: token endpoints.
        case errands
    }

    package let kind: Kind
    /// Keeps apart what must not share connections.
    package let endpoint: String
    package let reach: ProviderConfiguration.Reach

    /// Names the transport's thread.
    package let name: String

    /// Which addresses may be connected to.
    package var addressPolicy = AddressPolicy.any

    /// How many hosts it takes to fill the window: with 4, one of them gets a quarter at most.
    ///
    /// Where strangers choose hosts, a slow one must not take the window from the others.
    package var hostsPerWindow = 1

    /// Bytes of an answer that are kept; nil for what single answers need.
    package var longestAnswer: Int?

    /// Opens such a transport; nothing is connected yet.
    package func open() throws(TransferError) -> any HTTPTransport {
        switch kind {
        case .pushes: return try openForPushes(warmsUp: false)
        case .pushesOfKey: return try openForPushes(warmsUp: true)
        case .errands:
            var options = CurlTransportOptions(name: name)
            // Errands to different hosts must not wait for each other, and each takes a connection.
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
