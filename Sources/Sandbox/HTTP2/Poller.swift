import CLinux
import Glibc
import ServiceRuntime

/// Combines epoll and a waker: waits for many sockets at the same time and can be woken by any thread.
///
/// Thread safety: only `wake` may be called from any thread. The descriptors live as long as the object.
final class Poller: @unchecked Sendable {
    /// The key that represents the waker; no socket has it.
    static let wakeKey = UInt64.max

    private let poll: Int32
    private let waker = Waker()
    private var events = [epoll_event](repeating: epoll_event(), count: 256)

    init() throws(SandboxError) {
        poll = epoll_create1(bellhop_epoll_close_on_exec)
        guard poll >= 0, change(EPOLL_CTL_ADD, waker.descriptor, Self.wakeKey, bellhop_epoll_in) else {
            let reason = String(cString: strerror(errno))
            throw SandboxError(.resources, attempted: "preparing to wait for sockets", cameBack: reason)
        }
    }

    deinit { close(poll) }

    func wake() { waker.wake() }

    /// Starts to watch a socket for input.
    func add(_ socket: Int32, key: UInt64) -> Bool {
        change(EPOLL_CTL_ADD, socket, key, bellhop_epoll_in)
    }

    func watch(_ socket: Int32, key: UInt64, forWriting: Bool) {
        _ = change(EPOLL_CTL_MOD, socket, key, forWriting ? bellhop_epoll_out : bellhop_epoll_in)
    }

    func remove(_ socket: Int32) { _ = change(EPOLL_CTL_DEL, socket, 0, 0) }

    /// Waits at most `milliseconds` (negative: indefinitely) and reports the keys that are ready.
    func wait(milliseconds: Int32, _ ready: (UInt64) -> Void) {
        let count = epoll_wait(poll, &events, Int32(clamping: events.count), milliseconds)
        guard count > 0 else { return }
        for index in 0..<Int(count) {
            let key = events[index].data.u64
            if key == Self.wakeKey { waker.hush() } else { ready(key) }
        }
    }

    private func change(_ operation: Int32, _ socket: Int32, _ key: UInt64, _ interest: UInt32) -> Bool {
        var event = epoll_event()
        event.events = interest
        event.data.u64 = key
        return epoll_ctl(poll, operation, socket, &event) == 0
    }
}
