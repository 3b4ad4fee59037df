import Foundation

/// One call of HTTP/1.1 to this machine, on a connection and a thread of its own.
///
/// Foundation's client does not take chromedriver's header lines, which have no blank after the colon.
struct PlainCall: Sendable {
    let port: UInt16
    let method: String
    let path: String
    let body: [UInt8]

    /// Status and body of the answer.
    func answer() async throws -> (status: Int, body: [UInt8]) {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try exchange() }) }
        }
    }

    private func exchange() throws -> (status: Int, body: [UInt8]) {
        let connection = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard connection >= 0 else { throw BrowserFailure("no socket is to be had") }
        defer { close(connection) }
        var patience = timeval(tv_sec: 180, tv_usec: 0)
        setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(connection, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else { throw BrowserFailure("chromedriver takes no connection") }
        let head = """
            \(method) \(path) HTTP/1.1\r
            Host: 127.0.0.1:\(port)\r
            Content-Type: application/json\r
            Content-Length: \(body.count)\r
            Connection: close\r
            \r

            """
        try write(Array(head.utf8) + body, to: connection)
        return try Self.read(from: connection)
    }

    private func write(_ bytes: [UInt8], to connection: Int32) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw BrowserFailure("chromedriver does not listen") }
            rest = rest.dropFirst(count)
        }
    }

    /// Reads as many bytes as the header announces.
    private static func read(from connection: Int32) throws -> (status: Int, body: [UInt8]) {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 64 * 1_024)
        let end = Array("\r\n\r\n".utf8)
        while true {
            if let header = bytes.firstRange(of: end) {
                let head = String(decoding: bytes[..<header.lowerBound], as: UTF8.self)
                let length = head.firstMatch(of: /(?i)content-length: *([0-9]+)/).flatMap { Int($0.1) } ?? 0
                let status = head.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
                let body = bytes[header.upperBound...]
                if body.count >= length { return (status, Array(body.prefix(length))) }
            }
            let count = recv(connection, &piece, piece.count, 0)
            guard count > 0 else { throw BrowserFailure("chromedriver gave no whole answer") }
            bytes += piece[..<count]
        }
    }
}
