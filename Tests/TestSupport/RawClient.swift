import Glibc
import ServiceRuntime

/// A client on this machine that speaks bytes, so that a test can say what no HTTP library would.
///
/// Blocking, with a bound for every read; use it on a thread of its own (`onOwnThread`), since blocking reads must not starve
/// the pool of those who answer.
package final class RawClient: Sendable {
    package let descriptor: Int32

    /// Nil where nobody listens.
    package init?(port: UInt16, patience seconds: Double = LongestWait.seconds) {
        guard let connected = ProxySocket.connect("127.0.0.1", Int(port)) else { return nil }
        descriptor = connected
        var patience = timeval(tv_sec: Int(seconds), tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit {
        close(descriptor)
    }

    /// False once the server has closed the connection.
    @discardableResult
    package func send(_ bytes: [UInt8]) -> Bool { ProxySocket.sendAll(bytes, to: descriptor) }

    @discardableResult
    package func send(_ text: String) -> Bool { send(Array(text.utf8)) }

    /// The next bytes; nil at the end, or when nothing came in time.
    package func read() -> [UInt8]? {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &chunk, chunk.count, 0)
        return count > 0 ? Array(chunk[..<count]) : nil
    }

    /// Everything until the server closes.
    package func readAll() -> String {
        var bytes: [UInt8] = []
        while let more = read() { bytes += more }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Until `text` has come, or nothing comes any more.
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

/// Runs what blocks on a thread of its own, so that it takes none from the tests beside it.
package func onOwnThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
        NativeThread.start(named: "test-blocking") { continuation.resume(returning: body()) }
    }
}
