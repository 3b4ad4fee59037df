package import AMQP
import Synchronization

/// Publishes the events of many callers over one connection, within limits.
///
/// The messages of concurrent calls share the connection's writes and the broker's confirms, so that a call needs no
/// separate round trip. A caller waits without a thread.
package final class EventPublisher: Sendable {
    /// The maximum number and size of events whose outcome is pending.
    package struct Limits: Sendable {
        package let events: Int
        package let bytes: Int

        package init(events: Int = 10_000, bytes: Int = 32 << 20) {
            self.events = events
            self.bytes = bytes
        }
    }

    /// The result for all events of one call.
    package enum Outcome: Sendable, Equatable {
        /// The broker has stored all of them.
        case confirmed
        /// The broker has not confirmed all of them, and some may be stored; sending them again changes nothing.
        case unavailable(String)
        /// Too many events wait for their confirms; none was sent.
        case tooMany
        /// One of them can never be sent unchanged.
        case unfit(String)
    }

    private struct Pending {
        var events = 0
        var bytes = 0
    }

    private let exchange: String
    private let limits: Limits
    private let publish: @Sendable ([OutgoingMessage]) async -> [PublishOutcome]
    private let obstacle: @Sendable () -> String?
    private let pending = Mutex(Pending())

    /// Creates a publisher for an exchange.
    ///
    /// `publish` returns one outcome per message. `obstacle` returns the reason why no message can be published now,
    /// such as a missing connection, or `nil`.
    package init(
        to exchange: String,
        limits: Limits = Limits(),
        obstacle: @escaping @Sendable () -> String?,
        publish: @escaping @Sendable ([OutgoingMessage]) async -> [PublishOutcome]
    ) {
        self.exchange = exchange
        self.limits = limits
        self.publish = publish
        self.obstacle = obstacle
    }

    /// The number of events whose outcome is pending.
    package var pendingEvents: Int { pending.withLock { $0.events } }

    /// The bytes of their bodies.
    package var pendingBytes: Int { pending.withLock { $0.bytes } }

    /// Publishes the events of one call, and returns when the outcome of each is known.
    package func publish(_ events: [ValidEvent]) async -> Outcome {
        guard !events.isEmpty else { return .confirmed }
        if let reason = obstacle() { return .unavailable(reason) }
        let messages = events.map { $0.message(to: exchange) }
        let bytes = messages.reduce(0) { $0 + $1.body.count }
        guard enter(messages.count, bytes) else { return .tooMany }
        defer { leave(messages.count, bytes) }
        return Outcome(await publish(messages))
    }

    private func enter(_ events: Int, _ bytes: Int) -> Bool {
        pending.withLock { pending in
            guard pending.events + events <= limits.events, pending.bytes + bytes <= limits.bytes else { return false }
            pending.events += events
            pending.bytes += bytes
            return true
        }
    }

    private func leave(_ events: Int, _ bytes: Int) {
        pending.withLock { pending in
            pending.events -= events
            pending.bytes -= bytes
        }
    }
}

extension EventPublisher.Outcome {
    /// Combines the outcomes of all messages; one that can never be sent outweighs the others.
    fileprivate init(_ outcomes: [PublishOutcome]) {
        var result = Self.confirmed
        for outcome in outcomes {
            switch outcome {
            case .confirmed: continue
            case .unwritable(let reason), .tooLarge(let reason):
                self = .unfit(reason)
                return
            case .unroutable(let reason), .unknown(let reason), .notSent(let reason): result = .unavailable(reason)
            case .refused: result = .unavailable("the broker refused an event, its queue is full")
            }
        }
        self = result
    }
}
