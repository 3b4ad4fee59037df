import ServiceRuntime

/// A validated `amqp://` or `amqps://` URL: the broker's hosts, the credentials and the options.
///
/// Example: `amqp://user:password@host1:5672,host2:5673/vhost?heartbeat=30`. Several hosts are the nodes of one
/// cluster, which are tried in turn. User, password and virtual host are percent-decoded. The default user is `guest`.
/// The default virtual host is `/`, also if it is empty.
///
/// Options: `heartbeat` (seconds, 30), `connection_timeout` (milliseconds, 10,000), and with `amqps` also `cacertfile`,
/// `certfile` and `keyfile` (PEM). An unknown option is an error.
package struct BrokerAddress: Sendable, Equatable {
    /// One node of the cluster.
    package struct Host: Sendable, Equatable, CustomStringConvertible {
        /// A name or an IP address, without the brackets of IPv6.
        package let name: String
        package let port: UInt16

        package var description: String { name.contains(":") ? "[\(name)]:\(port)" : "\(name):\(port)" }
    }

    /// The files for TLS.
    ///
    /// Without `authorities`, the system's authorities are trusted.
    struct TLSFiles: Sendable, Equatable {
        var authorities: String?
        var certificate: String?
        var key: String?
    }

    /// The nodes of the cluster, at least one.
    package let hosts: [Host]
    package let virtualHost: String
    package let user: String
    let password: String
    /// The heartbeat interval in seconds.
    ///
    /// A peer that is silent for twice as long is considered lost.
    let heartbeat: Int32
    /// The time limit for the TCP and TLS handshakes together, and again for the log-in.
    let connectionTimeoutMilliseconds: Int
    /// The TLS files, or `nil` for plain TCP.
    let tls: TLSFiles?

    /// Parses `url`.
    ///
    /// The error names the invalid part and never quotes it, because it may be a piece of a password.
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
    /// The address for display and logs, without the password and the options.
    package var description: String {
        let nodes = hosts.map(\.description).joined(separator: ",")
        let path = PercentEncoding.encode(virtualHost)
        return "\(tls == nil ? "amqp" : "amqps")://\(PercentEncoding.encode(user)):***@\(nodes)/\(path)"
    }

    package var debugDescription: String { description }

    /// Hides the password from `dump` and from the summaries of debuggers.
    package var customMirror: Mirror { Mirror(self, children: ["address": description]) }
}
