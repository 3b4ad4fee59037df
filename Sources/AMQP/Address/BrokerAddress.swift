import ServiceRuntime

/// Where the broker is, who asks and how: an `amqp://` or `amqps://` URL that has been read and found sound.
///
/// `amqp://user:password@host1:5672,host2:5673/vhost?heartbeat=30`. Several hosts are the nodes of one cluster, tried
/// in turn. User, password and virtual host are percent-decoded. Without a user it is `guest`, without a virtual host
/// (or with an empty one) it is `/`. Options: `heartbeat` (seconds, 30), `connection_timeout` (milliseconds, 10,000),
/// and with `amqps` also `cacertfile`, `certfile` and `keyfile` (PEM); an unknown option is an error.
package struct BrokerAddress: Sendable, Equatable {
    /// One node of the cluster.
    package struct Host: Sendable, Equatable, CustomStringConvertible {
        /// A name or an IP address, without the brackets of IPv6.
        package let name: String
        package let port: UInt16

        package var description: String { name.contains(":") ? "[\(name)]:\(port)" : "\(name):\(port)" }
    }

    /// The files that TLS needs; without `authorities` the system's own are trusted.
    struct TLSFiles: Sendable, Equatable {
        var authorities: String?
        var certificate: String?
        var key: String?
    }

    /// At least one.
    package let hosts: [Host]
    package let virtualHost: String
    package let user: String
    let password: String
    /// Seconds between signs of life; a peer that is silent for twice as long is given up.
    let heartbeat: Int32
    /// For the TCP and TLS handshakes together, and again for the log-in.
    let connectionTimeoutMilliseconds: Int
    /// `nil` for plain TCP.
    let tls: TLSFiles?

    /// Reads `url`; the error names the part that is wrong and never quotes it, since it may be a piece of a password.
    package init(validating url: String) throws(AMQPError) {
        let parts = try AddressParts(url)
        let options = try AddressOptions(parts.query, isTLS: parts.isTLS)
        hosts = try parts.hosts()
        virtualHost = try parts.virtualHost()
        (user, password) = try parts.credentials()
        heartbeat = options.heartbeat
        connectionTimeoutMilliseconds = options.connectionTimeout
        tls = options.tls
    }
}

extension BrokerAddress: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The address as it may be shown and logged: without the password and the options.
    package var description: String {
        let nodes = hosts.map(\.description).joined(separator: ",")
        let path = PercentEncoding.encode(virtualHost)
        return "\(tls == nil ? "amqp" : "amqps")://\(PercentEncoding.encode(user)):***@\(nodes)/\(path)"
    }

    package var debugDescription: String { description }

    /// Hides the password from `dump` and debuggers' summaries.
    package var customMirror: Mirror { Mirror(self, children: ["address": description]) }
}
