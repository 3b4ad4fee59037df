import Postgres
import ServiceRuntime
import Synchronization

/// Says when the database goes and when it comes back, once each, however many connections notice.
///
/// A server that takes no writes, such as a standby behind an address that has moved, is not away: it lets everybody in and
/// refuses what they do. That is said as what it is, and once a minute while it lasts, since no connection tells its end.
final class DatabaseWatch: Sendable {
    private struct State {
        var isAway = false
        var saidReadOnly: Instant?
    }

    private let logger: Logger
    private let time: any TimeSource
    private let state = Mutex(State())

    init(_ logger: Logger, time: any TimeSource) {
        self.logger = logger
        self.time = time
    }

    func see(_ event: PoolEvent) {
        switch event {
        case .connected:
            let wasAway = state.withLock { state in
                defer { state.isAway = false }
                return state.isAway
            }
            if wasAway { logger.notice("the database is back") }
        case .refused(let error, _), .lost(let error?):
            if error.sqlState == .readOnlyTransaction { seeReadOnly(error) } else { seeAbsence(error) }
        case .lost(nil): break
        case .notice(let notice): logger.debug("the database remarks", ["notice": .text("\(notice)")])
        }
    }

    private func seeAbsence(_ error: PostgresError) {
        let wasAway = state.withLock { state in
            defer { state.isAway = true }
            return state.isAway
        }
        if !wasAway { logger.warning("the database is away", ["error": .error(error)]) }
    }

    private func seeReadOnly(_ error: PostgresError) {
        let now = time.now()
        let isNew = state.withLock { state in
            if let said = state.saidReadOnly, now - said < Self.pause { return false }
            state.saidReadOnly = now
            return true
        }
        guard isNew else { return }
        logger.warning(
            "the database is read-only: it answers and takes no writes",
            ["error": .error(error), "advice": "see whether its address leads to a standby"]
        )
    }

    private static let pause = Duration.seconds(60)
}
