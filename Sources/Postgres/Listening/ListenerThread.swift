import ServiceRuntime
import Synchronization

/// The thread of a listener: it connects, waits on the socket, passes events on and starts again.
final class ListenerThread: Sendable {
    private let options: ListenerOptions
    private let continuation: AsyncStream<NotificationListener.Event>.Continuation
    private let waker = Waker()
    private let isClosed = Atomic(false)

    /// The interval at which a full buffer is checked again.
    private static let overflowPause = Duration.milliseconds(100)

    init(_ options: ListenerOptions, _ continuation: AsyncStream<NotificationListener.Event>.Continuation) {
        self.options = options
        self.continuation = continuation
    }

    func start() { NativeThread.start(named: "pg-listen") { self.main() } }

    func close() {
        isClosed.store(true, ordering: .releasing)
        waker.wake()
        continuation.finish()
    }

    private var goesOn: Bool { !isClosed.load(ordering: .acquiring) }

    private func main() {
        var outbox = EventOutbox(continuation)
        var backoff = Backoff.ofServer
        while goesOn {
            do throws(PostgresError) {
                let session = try PostgresSession.open(options.recipe)
                backoff.reset()
                outbox.hand(over: .listening)
                try listen(on: session, &outbox)
            } catch {
                let pause = backoff.next(chance: .random(in: 0..<1))
                outbox.hand(over: .interrupted(error, retryIn: pause))
                sleep(until: .now + pause)
            }
        }
    }

    /// Passes notifications on until the listener closes, and throws if the connection is lost.
    private func listen(on session: PostgresSession, _ outbox: inout EventOutbox) throws(PostgresError) {
        var silentUntil = ContinuousClock.now + options.heartbeat
        while goesOn {
            let heard = try session.takeNotifications()
            for (channel, payload) in heard { outbox.hand(over: .notification(channel: channel, payload: payload)) }
            outbox.tellOverflow()
            if !heard.isEmpty { silentUntil = .now + options.heartbeat }
            if silentUntil <= .now {
                try session.command("SELECT 1", .nothing, Deadline(options.connectTimeout, CancellationHandle()))
                silentUntil = .now + options.heartbeat
                continue
            }
            let limit = outbox.owesOverflow ? .now + Self.overflowPause : silentUntil
            waker.sleep(for: limit - .now, .reading(session.socket))
        }
    }

    /// Sleeps until `end`, or until the listener closes.
    private func sleep(until end: ContinuousClock.Instant) {
        while goesOn, end > .now { waker.sleep(for: end - .now) }
    }
}

/// Passes events to a consumer that may be slow, and reports an overflow for events that did not fit.
struct EventOutbox {
    let continuation: AsyncStream<NotificationListener.Event>.Continuation
    /// Whether events were dropped and the consumer was not informed yet.
    private(set) var owesOverflow = false

    init(_ continuation: AsyncStream<NotificationListener.Event>.Continuation) {
        self.continuation = continuation
    }

    mutating func hand(over event: NotificationListener.Event) {
        tellOverflow()
        if case .dropped = continuation.yield(event) { owesOverflow = true }
    }

    /// Reports dropped events as soon as there is room again.
    mutating func tellOverflow() {
        guard owesOverflow else { return }
        if case .enqueued = continuation.yield(.overflowed) { owesOverflow = false }
    }
}
