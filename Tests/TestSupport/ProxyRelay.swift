import Foundation
import Glibc
import Synchronization

/// One connection through the proxy: two sockets and a thread for each direction.
///
/// Thread safety: a lock protects the state. Any thread may shut the sockets down, but only the last of the two threads
/// closes them, so that a number is never reused while a thread still reads from it.
final class ProxyRelay: Sendable {
    private let client: Int32
    private let server: Int32
    private let judge: @Sendable ([UInt8]) -> ProxyVerdict
    private let loses: @Sendable ([UInt8]) -> Bool
    private let swallowed: @Sendable (Int) -> Void
    private let state: Mutex<State>

    private struct State {
        var swallowing: Bool
        var cutsAtReply = false
        var runningThreads = 2
    }

    init(
        client: Int32,
        server: Int32,
        swallowing: Bool,
        judge: @escaping @Sendable ([UInt8]) -> ProxyVerdict,
        loses: @escaping @Sendable ([UInt8]) -> Bool,
        swallowed: @escaping @Sendable (Int) -> Void
    ) {
        self.client = client
        self.server = server
        self.judge = judge
        self.loses = loses
        self.swallowed = swallowed
        state = Mutex(State(swallowing: swallowing))
    }

    var isOver: Bool { state.withLock { $0.runningThreads == 0 } }

    func start() {
        Thread.detachNewThread { self.pump(from: self.client, to: self.server, with: self.passesToServer) }
        Thread.detachNewThread { self.pump(from: self.server, to: self.client, with: self.passesToClient) }
    }

    func swallow() {
        state.withLock { $0.swallowing = true }
    }

    func cut() {
        state.withLock { state in
            guard state.runningThreads > 0 else { return }
            shutdown(client, Int32(SHUT_RDWR))
            shutdown(server, Int32(SHUT_RDWR))
        }
    }

    private enum Step { case pass, swallow, cut }

    private func passesToServer(_ bytes: [UInt8]) -> Step {
        guard !state.withLock({ $0.swallowing }) else { return .swallow }
        switch judge(bytes) {
        case .pass: return .pass
        case .cut: return .cut
        case .passAndCutAtReply:
            state.withLock { $0.cutsAtReply = true }
            return .pass
        }
    }

    private func passesToClient(_ bytes: [UInt8]) -> Step {
        let step = state.withLock { state -> Step in
            guard !state.swallowing else { return .swallow }
            return state.cutsAtReply ? .cut : .pass
        }
        guard case .pass = step, loses(bytes) else { return step }
        return .swallow
    }

    private func pump(from source: Int32, to target: Int32, with decide: ([UInt8]) -> Step) {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        relaying: while true {
            let count = recv(source, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            let bytes = Array(buffer[..<count])
            switch decide(bytes) {
            case .pass: guard ProxySocket.sendAll(bytes, to: target) else { break relaying }
            case .swallow: swallowed(count)
            case .cut: break relaying
            }
        }
        cut()
        finish()
    }

    private func finish() {
        state.withLock { state in
            state.runningThreads -= 1
            guard state.runningThreads == 0 else { return }
            close(client)
            close(server)
        }
    }
}

/// The socket calls of the proxy.
enum ProxySocket {
    static func listenOnLoopback() throws -> (descriptor: Int32, port: Int) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutableBytes(of: &address) { raw -> Bool in
            guard let pointer = raw.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return false }
            return bind(descriptor, pointer, length) == 0 && listen(descriptor, 128) == 0
                && getsockname(descriptor, pointer, &length) == 0
        }
        guard bound else { throw ProxyFailure(errnoCode: errno) }
        return (descriptor, Int(in_port_t(bigEndian: address.sin_port)))
    }

    static func connect(_ host: String, _ port: Int) -> Int32? {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, String(port), &hints, &found) == 0 else { return nil }
        defer { freeaddrinfo(found) }
        var candidate = found
        while let address = candidate?.pointee {
            // A program that a test starts must not keep the test's connections open.
            let kind = address.ai_socktype | Int32(SOCK_CLOEXEC.rawValue)
            let descriptor = socket(address.ai_family, kind, address.ai_protocol)
            if Glibc.connect(descriptor, address.ai_addr, address.ai_addrlen) == 0 { return descriptor }
            close(descriptor)
            candidate = address.ai_next
        }
        return nil
    }

    /// Closes with a reset instead of an orderly end.
    static func reset(_ descriptor: Int32) {
        var hard = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &hard, socklen_t(MemoryLayout<linger>.size))
        close(descriptor)
    }

    static func sendAll(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }
}

/// The error of a proxy that could not open its listening socket.
struct ProxyFailure: Error, CustomStringConvertible {
    let errnoCode: Int32
    var description: String { "the proxy cannot listen on loopback: " + String(cString: strerror(errnoCode)) }
}
