import Glibc
import HTTPServer
import ServiceRuntime
import Synchronization
import TLS

/// The single thread of an HTTP/2 server: it accepts, reads, answers, and performs delayed actions.
///
/// Thread safety: everything except `grace`, `completion` and `open` belongs to the thread that calls `run`. Other
/// threads only leave a request and wake the loop.
final class ServerLoop: @unchecked Sendable {
    private enum ScheduledAction {
        case action(HTTP2Reaction.Action, connection: UInt64, stream: Int32)
        case drip(every: Duration, connection: UInt64, stream: Int32)
        /// Cuts off a connection that is still in its handshake.
        case handshakeDeadline(connection: UInt64)
        case acceptAgain
        case stopDeadline
    }

    let handler: any HTTP2Handler
    let limits: HTTP2Limits
    let callbacks: SessionCallbacks
    let readBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 16 * 1_024, alignment: 16)
    private let poller: Poller
    /// `nil` after the loop has ended; the port is free from then on.
    private var listener: ListeningSocket?
    private let tls: TLSServerContext
    /// The time that open streams may take after a stop; set once.
    private let grace = Mutex<Duration?>(nil)
    private let completion = Completion()
    private let open = Atomic<Int>(0)
    private var connections: [UInt64: ServerConnection] = [:]
    private var unfinished: [UInt64] = []
    private var timers = TimerQueue<ScheduledAction>()
    private var accepted: UInt64 = 0
    private var isAccepting = true
    private var isStopping = false
    private static let listenerKey: UInt64 = 0

    init(
        listener: ListeningSocket,
        tls: TLSServerContext,
        limits: HTTP2Limits,
        handler: any HTTP2Handler
    ) throws(SandboxError) {
        self.listener = listener
        self.tls = tls
        self.limits = limits
        self.handler = handler
        callbacks = try SessionCallbacks(readsContent: handler.readsContent)
        poller = try Poller()
        guard poller.add(listener.descriptor, key: Self.listenerKey) else {
            throw SandboxError(.resources, attempted: "listening", cameBack: String(cString: strerror(errno)))
        }
    }

    deinit { readBuffer.deallocate() }

    /// Open connections; safe to read from any thread.
    var openConnections: Int { open.load(ordering: .relaxed) }

    /// Runs until `stop`, on the calling thread.
    func run() {
        while !(isStopping && connections.isEmpty) {
            poller.wait(milliseconds: patience()) { key in
                key == Self.listenerKey ? acceptAll() : turn(key)
            }
            if let grace = grace.withLock(\.self), !isStopping { beginStop(grace) }
            let again = unfinished
            unfinished = []
            for key in again { turn(key) }
            let now = ContinuousClock.now
            while let due = timers.takeDue(now) { carryOut(due) }
        }
        listener = nil
        completion.complete()
    }

    /// Asks the loop to end and returns when it has ended; may be called from any thread, and repeatedly.
    func stop(grace: Duration) async {
        self.grace.withLock { $0 = $0 ?? grace }
        poller.wake()
        await completion.wait()
    }

    /// Performs an action on a stream after a delay.
    func carryOut(_ action: HTTP2Reaction.Action, after delay: Duration, connection: UInt64, stream: Int32) {
        timers.add(.action(action, connection: connection, stream: stream), at: .now + delay)
    }

    /// Sends the body of an answer byte by byte.
    func drip(every interval: Duration, connection: UInt64, stream: Int32) {
        timers.add(.drip(every: interval, connection: connection, stream: stream), at: .now + interval)
    }

    /// Returns the time until the next work in epoll's unit, rounded up.
    private func patience() -> Int32 {
        guard unfinished.isEmpty else { return 0 }
        guard let next = timers.nextDeadline else { return -1 }
        return (next - ContinuousClock.now).pollMilliseconds
    }

    private func turn(_ key: UInt64) {
        guard let connection = connections[key] else { return }
        let wish = connection.turn()
        switch wish {
        case .end: return end(connection)
        case .anotherTurn: unfinished.append(key)
        case .reading, .writing:
            guard wish != connection.watched else { return }
            connection.watched = wish
            poller.watch(connection.socket, key: key, forWriting: wish == .writing)
        }
    }

    private func end(_ connection: ServerConnection) {
        poller.remove(connection.socket)
        connection.finish()
        connections[connection.id] = nil
        open.store(connections.count, ordering: .relaxed)
        acceptAgain()
    }

    private func carryOut(_ later: ScheduledAction) {
        switch later {
        case .action(let action, let key, let stream):
            connections[key]?.carryOut(action, stream: stream)
            turn(key)
        case .drip(let interval, let key, let stream):
            if connections[key]?.drip(stream: stream) == true {
                drip(every: interval, connection: key, stream: stream)
            }
            turn(key)
        case .handshakeDeadline(let key):
            guard let connection = connections[key], connection.isInHandshake else { return }
            end(connection)
        case .acceptAgain: acceptAgain()
        case .stopDeadline:
            for connection in Array(connections.values) { end(connection) }
        }
    }

    private func beginStop(_ grace: Duration) {
        isStopping = true
        pauseAccepting()
        timers.add(.stopDeadline, at: .now + grace)
        for connection in Array(connections.values) {
            guard !connection.isInHandshake else {
                end(connection)
                continue
            }
            connection.beginGoodbye()
            turn(connection.id)
        }
    }
}

// The acceptance of new clients.
extension ServerLoop {
    private func acceptAll() {
        while isAccepting, !isStopping {
            guard connections.count < limits.connections else { return pauseAccepting() }
            let socket = accept(listener?.descriptor ?? -1, nil, nil)
            guard socket >= 0 else { return acceptFailed(errno) }
            take(socket)
        }
    }

    private func take(_ socket: Int32) {
        _ = fcntl(socket, F_SETFL, O_NONBLOCK)
        _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
        var yes: Int32 = 1
        setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
        accepted += 1
        guard let connection = tls.makeConnection(over: socket), poller.add(socket, key: accepted) else {
            close(socket)
            return
        }
        connections[accepted] = ServerConnection(id: accepted, socket: socket, tls: connection, loop: self)
        open.store(connections.count, ordering: .relaxed)
        timers.add(.handshakeDeadline(connection: accepted), at: .now + limits.handshakeTimeout)
    }

    private func acceptFailed(_ code: Int32) {
        switch code {
        case EAGAIN, EINTR, ECONNABORTED: return
        default:
            // No descriptors or memory: epoll would report the same client again immediately and indefinitely.
            pauseAccepting()
            timers.add(.acceptAgain, at: .now + .milliseconds(100))
        }
    }

    private func pauseAccepting() {
        guard isAccepting else { return }
        isAccepting = false
        listener.map { poller.remove($0.descriptor) }
    }

    private func acceptAgain() {
        guard let listener, !isAccepting, !isStopping, connections.count < limits.connections else { return }
        isAccepting = poller.add(listener.descriptor, key: Self.listenerKey)
    }
}
