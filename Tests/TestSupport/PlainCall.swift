import Foundation

/// One HTTP/1.1 call to this machine, on a separate connection and thread.
///
/// Foundation's client does not accept chromedriver's header lines, which have no space after the colon. In Swift 6.0
/// it also ends the process if a server answers and closes before it has read everything.
package struct PlainCall: Sendable {
    private let port: UInt16
    private let method: String
    private let path: String
    private let headers: [String]
    private let body: [UInt8]

    /// Creates a call; `headers` are whole lines.
    ///
    /// A body is `application/json` unless the headers state another type.
    package init(_ method: String, port: UInt16, path: String, headers: [String] = [], body: [UInt8] = []) {
        self.method = method
        self.port = port
        self.path = path
        self.headers = headers
        self.body = body
    }

    /// Creates a GET of an address such as `http://127.0.0.1:8080/readyz`; `nil` if the address has no port.
    package init?(_ address: String, headers: [String] = []) {
        guard let url = URL(string: address), let port = url.port.flatMap(UInt16.init(exactly:)) else { return nil }
        self.init("GET", port: port, path: url.path.isEmpty ? "/" : url.path, headers: headers)
    }

    package struct Answer: Sendable {
        package let status: Int
        package let head: String
        package let body: [UInt8]

        package var text: String { String(decoding: body, as: UTF8.self) }
    }

    /// The reason for a missing answer.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    package func answer() async throws -> Answer {
        try await onOwnThread { Result { try exchange() } }.get()
    }

    private func exchange() throws -> Answer {
        guard let connection = RawClient(port: port, patience: 180) else {
            throw Failure(description: "\(method) \(path): port \(port) takes no connection")
        }
        let lines = ["\(method) \(path) HTTP/1.1", "Host: 127.0.0.1:\(port)", "Connection: close"]
        let isTyped = headers.contains { $0.hasPrefix("Content-Type:") }
        let type = body.isEmpty || isTyped ? [] : ["Content-Type: application/json"]
        let length = body.isEmpty ? [] : ["Content-Length: \(body.count)"]
        let head = (lines + type + length + headers).joined(separator: "\r\n") + "\r\n\r\n"
        // A server that rejects a request by its header may not read all of it, but sends its answer.
        connection.send(Array(head.utf8) + body)
        return try read(from: connection)
    }

    /// Reads as many bytes as the header announces, or all if it does not state a length.
    private func read(from connection: RawClient) throws -> Answer {
        var bytes: [UInt8] = []
        let end = Array("\r\n\r\n".utf8)
        while true {
            let header = bytes.firstRange(of: end)
            let head = header.map { String(decoding: bytes[..<$0.lowerBound], as: UTF8.self) } ?? ""
            let length = head.firstMatch(of: /(?i)content-length: *([0-9]+)/).flatMap { Int($0.1) }
            let body = header.map { bytes[$0.upperBound...] } ?? []
            if let length, body.count >= length { return answer(head, body.prefix(length)) }
            guard let piece = connection.read() else {
                if header != nil, length == nil { return answer(head, body) }
                throw Failure(description: "\(method) \(path): port \(port) gave no whole answer")
            }
            bytes += piece
        }
    }

    private func answer(_ head: String, _ body: ArraySlice<UInt8>) -> Answer {
        let status = head.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return Answer(status: status, head: head, body: Array(body))
    }
}
