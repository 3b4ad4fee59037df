import Foundation
import TestSupport

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
        try await onOwnThread { Result { try exchange() } }.get()
    }

    private func exchange() throws -> (status: Int, body: [UInt8]) {
        guard let connection = RawClient(port: port, patience: 180) else {
            throw BrowserFailure("chromedriver takes no connection")
        }
        let head = """
            \(method) \(path) HTTP/1.1\r
            Host: 127.0.0.1:\(port)\r
            Content-Type: application/json\r
            Content-Length: \(body.count)\r
            Connection: close\r
            \r

            """
        guard connection.send(Array(head.utf8) + body) else { throw BrowserFailure("chromedriver does not listen") }
        return try Self.read(from: connection)
    }

    /// Reads as many bytes as the header announces.
    private static func read(from connection: RawClient) throws -> (status: Int, body: [UInt8]) {
        var bytes: [UInt8] = []
        let end = Array("\r\n\r\n".utf8)
        while true {
            if let header = bytes.firstRange(of: end) {
                let head = String(decoding: bytes[..<header.lowerBound], as: UTF8.self)
                let length = head.firstMatch(of: /(?i)content-length: *([0-9]+)/).flatMap { Int($0.1) } ?? 0
                let status = head.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
                let body = bytes[header.upperBound...]
                if body.count >= length { return (status, Array(body.prefix(length))) }
            }
            guard let piece = connection.read() else { throw BrowserFailure("chromedriver gave no whole answer") }
            bytes += piece
        }
    }
}
