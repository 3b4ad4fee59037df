import AMQP
import ServiceRuntime
import Synchronization

/// Logs the events of a process's connections to the broker.
///
/// An outage ends all connections at the same time, and each then tries again every few seconds. The log has one warning
/// for each kind of error of an outage, and one line when the last connection is restored; the rest is at `debug`.
final class BrokerConnectionLog: Sendable {
    private let logger: Logger
    private let state = Mutex(State())

    /// The connections that are lost, and the kinds of errors that the log has for this outage.
    private struct State {
        var connections = 0
        var lost: Set<Int> = []
        var told: Set<String> = []
    }

    init(logger: Logger) {
        self.logger = logger
    }

    /// Returns the observer of one connection; `name` is its label in the log.
    func observer(of name: String) -> @Sendable (ConnectionEvent) -> Void {
        let number = state.withLock { state in
            state.connections += 1
            return state.connections
        }
        let logger = logger.labelled(name)
        return { [self] event in logger.log(level(of: event, from: number), "\(event)") }
    }

    private func level(of event: ConnectionEvent, from number: Int) -> LogLevel {
        switch event {
        // A connection that this process closed is not a problem.
        case .disconnected(_, retryIn: nil):
            _ = restore(number)
            return .info
        case .disconnected(let error, _):
            return state.withLock { state in
                state.lost.insert(number)
                return state.told.insert("\(error.code)").inserted ? .warning : .debug
            }
        case .connected: return restore(number) ? .notice : .debug
        case .renewed: return .debug
        case .blocked, .consumerCancelled, .subscriptionFailed, .unreadable, .channelClosed: return .warning
        case .unblocked, .subscribed: return .notice
        }
    }

    /// Notes that a connection is no longer lost; false if it was, and others still are.
    private func restore(_ number: Int) -> Bool {
        state.withLock { state in
            guard state.lost.remove(number) != nil else { return true }
            guard state.lost.isEmpty else { return false }
            state.told = []
            return true
        }
    }
}
