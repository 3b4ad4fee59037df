import Foundation
import Synchronization
import TestSupport

/// A request as received.
struct RawRequest: Sendable {
    let connection: Int

    /// The request line and the header lines.
    let lines: [String]
    let body: [UInt8]

    var path: String { lines.first?.split(separator: " ").dropFirst().first.map(String.init) ?? "" }

    /// Returns the value of a header, or `nil` if it is missing.
    ///
    /// The case of the name does not matter.
    func header(_ name: String) -> String? {
        let start = "\(name.lowercased()):"
        let line = lines.dropFirst().first { $0.lowercased().hasPrefix(start) }
        return line.map { $0.dropFirst(start.count).trimmingCharacters(in: .whitespaces) }
    }
}

/// One accepted connection of a `RawServer`.
final class RawConnection: Sendable {
    /// The connection's number, counted by the server from 0.
    let index: Int

    private let descriptor: CInt
    private let isOpen = Mutex(true)
    private let record: @Sendable (RawRequest) -> Void

    init(_ descriptor: CInt, index: Int, record: @escaping @Sendable (RawRequest) -> Void) {
        self.descriptor = descriptor
        self.index = index
        self.record = record
        var limit = timeval(tv_sec: Int(LongestWait.seconds), tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit {
        close(descriptor)
    }

    /// Returns the next request with its complete body, or `nil` if the peer has closed the connection.
    func readRequest() -> RawRequest? {
        var head: [UInt8] = []
        while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) {
            guard let byte = read(1).first else { return nil }
            head.append(byte)
        }
        let lines = String(decoding: head.dropLast(4), as: UTF8.self).components(separatedBy: "\r\n")
        let bodyless = RawRequest(connection: index, lines: lines, body: [])
        let length = bodyless.header("content-length").flatMap { Int($0) } ?? 0
        var body: [UInt8] = []
        while body.count < length {
            let piece = read(length - body.count)
            guard !piece.isEmpty else { return nil }
            body += piece
        }
        let request = RawRequest(connection: index, lines: lines, body: body)
        record(request)
        return request
    }

    /// Reads until the peer closes the connection.
    func waitForPeerToClose() {
        while !read(4096).isEmpty {}
    }

    @discardableResult
    func send(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { bytes in
                Foundation.send(descriptor, bytes.baseAddress.map { $0 + sent }, bytes.count - sent, CInt(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }

    /// Sends a complete answer with a content length.
    @discardableResult
    func answer(_ status: String = "200 OK", headers: [String] = [], body: String = "") -> Bool {
        let lines = ["HTTP/1.1 \(status)"] + headers + ["Content-Length: \(body.utf8.count)", "", body]
        return send(lines.joined(separator: "\r\n"))
    }

    /// Ends the connection in both directions.
    ///
    /// The descriptor is closed when nothing can use it any longer.
    func cut() {
        isOpen.withLock { isOpen in
            guard isOpen else { return }
            isOpen = false
            shutdown(descriptor, CInt(SHUT_RDWR))
        }
    }

    private func read(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: min(count, 65_536))
        let length = recv(descriptor, &bytes, bytes.count, 0)
        return length > 0 ? Array(bytes.prefix(length)) : []
    }
}
