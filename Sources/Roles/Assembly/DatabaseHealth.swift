import Postgres
import ServiceRuntime
import Store
import Synchronization

/// Logs when the database becomes unavailable and available again, and counts its errors by reason.
///
/// Each change is logged once, regardless of the number of connections that detect it.
///
/// A server that is read-only, has no disk space or has no free connections is not unavailable: it answers with an
/// error. This error is logged as such, at most once per minute while it lasts, since no connection reports its end.
final class DatabaseHealth: Sendable {
    private struct State {
        var isAway = false
        var said: [StoreError.Cause: Instant] = [:]
    }

    private let logger: Logger
    private let time: any TimeSource
    private let failures: LabelledMetric<Counter>
    private let state = Mutex(State())

    init(_ logger: Logger, time: any TimeSource, metrics: MetricsRegistry) {
        self.logger = logger
        self.time = time
        failures = metrics.counter(
            "bellhop_database_failures_total",
            help: "Database errors by cause: away, connections, disk, read-only and more.",
            labels: ["reason"]
        )
    }

    func see(_ event: PoolEvent) {
        switch event {
        case .connected:
            let wasAway = state.withLock { state in
                defer { state.isAway = false }
                return state.isAway
            }
            if wasAway { logger.notice("database available") }
        case .refused(let error, _), .lost(let error?), .failed(let error): see(error, error.cause)
        case .lost(nil): break
        case .notice(let notice): logger.debug("the database remarks", ["notice": .text("\(notice)")])
        }
    }

    /// Returns the problem of a lane, with its cause first if that is the database.
    func explain(_ problem: String) -> String {
        let isAway = state.withLock(\.isAway)
        return isAway ? "the database is unavailable, so the lane stores nothing: \(problem)" : problem
    }

    private func see(_ error: StoreError, _ trouble: StoreError.Cause) {
        failures.with(trouble.rawValue).increment()
        if let words = trouble.words {
            say(words, of: trouble, error)
        } else if trouble == .away {
            seeAbsence(error)
        }
    }

    private func seeAbsence(_ error: StoreError) {
        let wasAway = state.withLock { state in
            defer { state.isAway = true }
            return state.isAway
        }
        if !wasAway { logger.warning("database unavailable", ["error": .error(error)]) }
    }

    private func say(_ words: (what: String, advice: String), of trouble: StoreError.Cause, _ error: StoreError) {
        let now = time.now()
        let isNew = state.withLock { state in
            if let said = state.said[trouble], now - said < Self.pause { return false }
            state.said[trouble] = now
            return true
        }
        guard isNew else { return }
        logger.warning(words.what, ["error": .error(error), "advice": .text(words.advice)])
    }

    private static let pause = Duration.seconds(60)
}

extension StoreError.Cause {
    /// Message and advice for the log, or `nil` if the failed statement reports the error better.
    fileprivate var words: (what: String, advice: String)? {
        switch self {
        case .readOnly:
            ("database is read-only", "see whether its address leads to a standby")
        case .disk: ("database is out of disk space", "make room where its data is")
        case .connections:
            ("database has no free connections", "raise max_connections, or run fewer workers and schedulers")
        case .away, .locks, .resources, .rights, .slow, .other: nil
        }
    }
}
