import Glibc
import ServiceRuntime

/// A client on this machine that sends raw bytes, so that a test can send what no HTTP library would.
///
/// It blocks, with a limit for every read. Use it on a separate thread (`onOwnThread`), because blocking reads must not
/// starve the thread pool of the servers.
package final class RawClient: Sendable {
    package let descriptor: Int32

    /// Connects to a port; `nil` if no server listens.
    package init?(port: UInt16, patience seconds: Double = LongestWait.seconds) {
        guard let connected = ProxySocket.connect("127.0.0.1", Int(port)) else { return nil }
        descriptor = connected
        var patience = timeval(tv_sec: Int(seconds), tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit {
        close(descriptor)
    }

    /// Sends bytes; returns `false` after the server has closed the connection.
    @discardableResult
    package func send(_ bytes: [UInt8]) -> Bool { ProxySocket.sendAll(bytes, to: descriptor) }

    @discardableResult
    package func send(_ text: String) -> Bool { send(Array(text.utf8)) }

    /// Returns the next bytes; `nil` at the end, or if nothing arrived in time.
    package func read() -> [UInt8]? {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &chunk, chunk.count, 0)
        return count > 0 ? Array(chunk[..<count]) : nil
    }

    /// Returns everything until the server closes.
    package func readAll() -> String {
        var bytes: [UInt8] = []
        while let more = read() { bytes += more }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Reads until `text` has arrived, or until nothing more arrives.
    package func read(until text: String) -> String {
        var got = ""
        while !got.contains(text), let more = read() { got += String(decoding: more, as: UTF8.self) }
        return got
    }

    /// Whether the server closes the connection instead of staying silent.
    package func isClosedByServer() async -> Bool {
        await onOwnThread { [self] in
            var chunk = [UInt8](repeating: 0, count: 4_096)
            while true {
                let count = recv(descriptor, &chunk, chunk.count, 0)
                if count == 0 || (count < 0 && errno == ECONNRESET) { return true }
                if count < 0 { return false }
            }
        }
    }
}

/// Runs a blocking body on a separate thread, so that concurrent tests keep all threads of the pool.
package func onOwnThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
        NativeThread.start(named: "test-blocking") { continuation.resume(returning: body()) }
    }
}
