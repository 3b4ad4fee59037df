import ServiceRuntime

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
