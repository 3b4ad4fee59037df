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
