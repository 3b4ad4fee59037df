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

/// A broker URL that is split at its separators, before percent-decoding.
struct AddressParts {
    let isTLS: Bool
    let query: Substring?
    private let userInfo: Substring?
    private let hostList: Substring
    private let path: Substring?

    init(_ url: String) throws(AMQPError) {
        guard let schemeEnd = url.firstRange(of: "://") else {
            throw Self.fault("it has no scheme; write amqp://host or amqps://host")
        }
        switch url[..<schemeEnd.lowerBound].lowercased() {
        case "amqp": isTLS = false
        case "amqps": isTLS = true
        default: throw Self.fault("its scheme is neither amqp nor amqps")
        }
        var rest = url[schemeEnd.upperBound...]
        guard !rest.contains("#") else { throw Self.fault("it has a fragment; write # as %23") }
        query = rest.firstIndex(of: "?").map { rest[rest.index(after: $0)...] }
        rest = rest.prefix { $0 != "?" }
        path = rest.firstIndex(of: "/").map { rest[rest.index(after: $0)...] }
        rest = rest.prefix { $0 != "/" }
        let at = rest.lastIndex(of: "@")
        userInfo = at.map { rest[..<$0] }
        hostList = at.map { rest[rest.index(after: $0)...] } ?? rest
    }

    func hosts() throws(AMQPError) -> [BrokerAddress.Host] {
        var hosts: [BrokerAddress.Host] = []
        for piece in hostList.split(separator: ",", omittingEmptySubsequences: false) {
            hosts.append(try host(piece))
        }
        return hosts
    }

    func virtualHost() throws(AMQPError) -> String {
        guard let path, !path.isEmpty else { return "/" }
        guard !path.contains("/") else { throw Self.fault("its virtual host holds a slash; write it as %2F") }
        let name = try Self.decoded(path, part: "virtual host")
        guard name.utf8.count <= 255 else { throw Self.fault("its virtual host is longer than 255 bytes") }
        return name
    }

    func credentials() throws(AMQPError) -> (user: String, password: String) {
        guard let userInfo else { return ("guest", "guest") }
        let colon = userInfo.firstIndex(of: ":")
        let user = try Self.decoded(userInfo[..<(colon ?? userInfo.endIndex)], part: "user")
        guard !user.isEmpty else { throw Self.fault("its user is empty") }
        guard let colon else { return (user, "") }
        return (user, try Self.decoded(userInfo[userInfo.index(after: colon)...], part: "password"))
    }

    private func host(_ piece: Substring) throws(AMQPError) -> BrokerAddress.Host {
        var name = piece
        var port: Substring?
        if piece.hasPrefix("[") {
            guard let end = piece.firstIndex(of: "]") else { throw Self.fault("an IPv6 address lacks its bracket") }
            name = piece[piece.index(after: piece.startIndex)..<end]
            let tail = piece[piece.index(after: end)...]
            guard tail.isEmpty || tail.hasPrefix(":") else { throw Self.fault("something follows an IPv6 address") }
            port = tail.isEmpty ? nil : tail.dropFirst()
        } else if let colon = piece.firstIndex(of: ":") {
            name = piece[..<colon]
            port = piece[piece.index(after: colon)...]
        }
        let isSound = name.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7f }
        guard !name.isEmpty, isSound, name.utf8.count <= 255 else {
            throw Self.fault("a host name is missing or broken")
        }
        guard let port else { return .init(name: String(name), port: isTLS ? 5671 : 5672) }
        guard let number = UInt16(port), number > 0 else { throw Self.fault("a port is not a number from 1 to 65535") }
        return .init(name: String(name), port: number)
    }

    static func fault(_ what: String) -> AMQPError {
        AMQPError(.invalidAddress, "cannot read the broker's address: \(what)")
    }

    /// Percent-decodes one part of the URL.
    ///
    /// A NUL is rejected: these strings become C strings, and a NUL would truncate them.
    static func decoded(_ text: Substring, part: String) throws(AMQPError) -> String {
        guard let decoded = PercentEncoding.decode(text.utf8) else {
            throw fault("its \(part) holds a % without two hexadecimal digits, a NUL or no UTF-8; write % as %25")
        }
        guard decoded.utf8.count <= 4096 else { throw fault("its \(part) is longer than 4096 bytes") }
        return decoded
    }
}

/// The options after the question mark of a broker URL.
struct AddressOptions {
    private(set) var heartbeat: Int32 = 30
    private(set) var connectionTimeout = 10_000
    private(set) var tls: BrokerAddress.TLSFiles?

    init(_ query: Substring?, isTLS: Bool) throws(AMQPError) {
        tls = isTLS ? .init() : nil
        var seen: Set<Substring> = []
        for piece in (query ?? "").split(separator: "&") {
            let name = piece.prefix { $0 != "=" }
            guard seen.insert(name).inserted else { throw AddressParts.fault("an option occurs twice") }
            let value = try AddressParts.decoded(piece.dropFirst(name.count + 1), part: "options")
            try take(name, value)
        }
        guard (tls?.certificate == nil) == (tls?.key == nil) else {
            throw AddressParts.fault("certfile and keyfile go together")
        }
    }

    private mutating func take(_ name: Substring, _ value: String) throws(AMQPError) {
        switch name {
        case "heartbeat":
            heartbeat = Int32(try number(value, in: 1...3600, "heartbeat takes seconds from 1 to 3600"))
        case "connection_timeout":
            let rule = "connection_timeout takes milliseconds from 1 to 600000"
            connectionTimeout = try number(value, in: 1...600_000, rule)
        case "cacertfile": try takeFile(\.authorities, value)
        case "certfile": try takeFile(\.certificate, value)
        case "keyfile": try takeFile(\.key, value)
        default:
            let known = "heartbeat, connection_timeout, cacertfile, certfile, keyfile"
            throw AddressParts.fault("it has an unknown option; known are \(known)")
        }
    }

    private func number(_ value: String, in range: ClosedRange<Int>, _ rule: String) throws(AMQPError) -> Int {
        guard let number = Int(value), range.contains(number) else { throw AddressParts.fault(rule) }
        return number
    }

    private mutating func takeFile(
        _ file: WritableKeyPath<BrokerAddress.TLSFiles, String?>,
        _ value: String
    ) throws(AMQPError) {
        guard tls != nil else { throw AddressParts.fault("certificate files need amqps") }
        guard !value.isEmpty else { throw AddressParts.fault("a certificate file has no name") }
        tls?[keyPath: file] = value
    }
}
