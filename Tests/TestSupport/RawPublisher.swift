import Foundation

/// Publishes over a bare socket, frame by frame, so that headers can have contents that no library would write.
package final class RawPublisher {
    package enum Answer: Equatable, Sendable {
        case confirmed
        /// The broker closed the channel or the connection with this number.
        case refused(UInt16)
    }

    /// The numbers of the broker's version from its greeting, such as 3, 10, 8; empty if it sends none.
    package private(set) var brokerVersion: [Int] = []

    private let socket: Int32

    /// Logs in to the broker of an `amqp://` URL, on the URL's virtual host.
    package init(_ url: String) throws {
        guard let parts = URLComponents(string: url), let host = parts.host,
            let socket = ProxySocket.connect(host, parts.port ?? 5672)
        else { throw RawPublisherFailure("no connection") }
        let (user, password) = (Array((parts.user ?? "guest").utf8), Array((parts.password ?? "guest").utf8))
        self.socket = socket
        var limit = timeval(tv_sec: Int(LongestWait.seconds), tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        try send(Array("AMQP".utf8) + [0, 0, 9, 1])
        brokerVersion = Self.version(in: try expect(10, 10))
        let login = long([0] + user + [0] + password)
        try sendMethod(10, 11, long([]) + short("PLAIN") + login + short("en_US"), channel: 0)
        try expect(10, 30)
        try sendMethod(10, 31, number(UInt16(1)) + number(UInt32(131_072)) + number(UInt16(0)), channel: 0)
        try sendMethod(10, 40, short(Self.virtualHost(parts)) + short("") + [0], channel: 0)
        try expect(10, 41)
        try sendMethod(20, 10, short(""))
        try expect(20, 11)
        try sendMethod(85, 10, [0])
        try expect(85, 11)
    }

    /// Returns the path without its slash; a missing path means `/`.
    private static func virtualHost(_ parts: URLComponents) -> String {
        parts.path.count > 1 ? String(parts.path.dropFirst()) : "/"
    }

    deinit { close(socket) }

    /// Publishes to the default exchange with the header table in `entries`, and waits for the answer.
    package func publish(to queue: [UInt8], headers entries: [UInt8], body: [UInt8] = [1]) throws -> Answer {
        try publish(to: queue, flags: 1 << 13, properties: long(entries), body: body)
    }

    /// Publishes with the properties that `flags` and the bytes define.
    package func publish(
        to queue: [UInt8],
        exchange: String = "",
        flags: UInt16,
        properties: [UInt8],
        body: [UInt8] = [1]
    ) throws -> Answer {
        try sendMethod(60, 40, number(UInt16(0)) + short(exchange) + [UInt8(queue.count)] + queue + [0])
        let size = number(UInt64(body.count))
        try send(2, number(UInt16(60)) + number(UInt16(0)) + size + number(flags) + properties)
        try send(3, body)
        while true {
            let (type, payload) = try receive()
            guard type == 1, payload.count > 5 else { continue }
            switch (payload[1], payload[3]) {
            case (60, 80): return .confirmed
            case (20, 40), (10, 50): return .refused(UInt16(payload[4]) << 8 | UInt16(payload[5]))
            default: continue
            }
        }
    }

    /// Consumes from the queue; exclusively, this keeps every other consumer out.
    package func consume(_ queue: String, exclusively isExclusive: Bool = false) throws {
        let flags: UInt8 = isExclusive ? 1 << 2 : 0
        try sendMethod(60, 20, number(UInt16(0)) + short(queue) + short("") + [flags] + long([]))
        try expect(60, 21)
    }

    /// Returns the version from the properties of a broker's greeting.
    private static func version(in greeting: [UInt8]) -> [Int] {
        let name: [UInt8] = [7] + Array("version".utf8) + [UInt8(ascii: "S")]
        guard let found = greeting.firstRange(of: name) else { return [] }
        let text = greeting[found.upperBound...].dropFirst(4).prefix { $0 == UInt8(ascii: ".") || 48...57 ~= $0 }
        return String(decoding: text, as: UTF8.self).split(separator: ".").compactMap { Int($0) }
    }

    @discardableResult
    private func expect(_ classID: UInt8, _ methodID: UInt8) throws -> [UInt8] {
        let (type, payload) = try receive()
        guard type == 1, payload[1] == classID, payload[3] == methodID else {
            throw RawPublisherFailure("frame \(type) \(payload.prefix(4))")
        }
        return payload
    }

    private func sendMethod(_ classID: UInt16, _ methodID: UInt16, _ arguments: [UInt8], channel: UInt16 = 1) throws {
        try send(1, number(classID) + number(methodID) + arguments, channel: channel)
    }

    private func send(_ type: UInt8, _ payload: [UInt8], channel: UInt16 = 1) throws {
        try send([type] + number(channel) + long(payload) + [206])
    }

    private func send(_ bytes: [UInt8]) throws {
        guard ProxySocket.sendAll(bytes, to: socket) else { throw RawPublisherFailure("the broker hung up") }
    }

    private func receive() throws -> (type: UInt8, payload: [UInt8]) {
        let head = try receive(7)
        let size = head[3...].reduce(0) { $0 << 8 | Int($1) }
        return (head[0], Array(try receive(size + 1).dropLast()))
    }

    private func receive(_ count: Int) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var have = 0
        while have < count {
            let got = bytes[have...].withUnsafeMutableBytes { recv(socket, $0.baseAddress, $0.count, 0) }
            guard got > 0 else { throw RawPublisherFailure("the broker hung up") }
            have += got
        }
        return bytes
    }

    private func long(_ payload: [UInt8]) -> [UInt8] { number(UInt32(payload.count)) + payload }

    private func short(_ text: String) -> [UInt8] { [UInt8(text.utf8.count)] + Array(text.utf8) }

    private func number<Number: FixedWidthInteger>(_ value: Number) -> [UInt8] {
        withUnsafeBytes(of: value.bigEndian) { Array($0) }
    }
}

/// The broker did not answer as expected.
package struct RawPublisherFailure: Error, CustomStringConvertible {
    package let description: String
    init(_ description: String) { self.description = description }
}
