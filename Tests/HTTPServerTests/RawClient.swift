import Foundation
import ServiceRuntime
import TestSupport

/// A client that speaks bytes, so that a test can say what no HTTP library would.
///
/// Blocking, with ten seconds for every read; use it through `withClient`, on a thread of its own.
final class RawClient {
    private let descriptor: Int32

    init?(port: UInt16) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard code == 0 else {
            close(descriptor)
            return nil
        }
        var patience = timeval(tv_sec: Int(LongestWait.seconds), tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    /// False once the server has closed the connection.
    @discardableResult
    func send(_ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }

    @discardableResult
    func send(_ text: String) -> Bool {
        send(Array(text.utf8))
    }

    /// The next bytes; nil at the end, or when nothing came for ten seconds.
    func read() -> [UInt8]? {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &chunk, chunk.count, 0)
        return count > 0 ? Array(chunk[..<count]) : nil
    }

    /// Everything until the server closes.
    func readAll() -> String {
        var bytes: [UInt8] = []
        while let more = read() { bytes += more }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Until `text` has come, or nothing comes any more.
    func read(until text: String) -> String {
        var got = ""
        while !got.contains(text), let more = read() { got += String(decoding: more, as: UTF8.self) }
        return got
    }
}

/// Runs `body` with a connected client on a thread of its own: blocking reads must not starve the handlers' pool.
func withClient<Value: Sendable>(
    _ port: UInt16,
    _ body: @escaping @Sendable (RawClient) -> Value
) async -> Value? {
    await withCheckedContinuation { continuation in
        NativeThread.start(named: "raw-client") {
            continuation.resume(returning: RawClient(port: port).map(body))
        }
    }
}

/// Sends the request and reads until the server closes.
func exchange(_ port: UInt16, _ request: String) async -> String {
    await withClient(port) { client in
        client.send(request)
        return client.readAll()
    } ?? "no connection"
}

/// A plain request that asks for the connection to be closed.
func get(_ port: UInt16, _ path: String, method: String = "GET") async -> String {
    await exchange(port, "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
}

extension String {
    /// `200` of `HTTP/1.1 200 OK`.
    var status: String {
        split(separator: " ").dropFirst().first.map(String.init) ?? ""
    }

    /// What follows the empty line.
    var content: String {
        range(of: "\r\n\r\n").map { String(self[$0.upperBound...]) } ?? ""
    }
}
