package import Postgres
package import ServiceRuntime
package import Store

/// Proves that a process with claims is alive, so that schedulers detect its end.
///
/// It writes a heartbeat every five seconds, and holds a lock in a dedicated session, which the server ends with the
/// process. During a drain it writes no heartbeat; the lock lasts until the process ends.
package final class ClaimantHeartbeat: Service {
    package let name = "claimant"
    /// The identity of this process in its claims.
    package var claimant: Claimant { Claimant(number: number) }
    private let number: Int64
    private let book: ClaimantBook
    private let lock: NotificationListener
    private let logger: Logger

    /// Enrols the process.
    ///
    /// `session` contains the options of its session, with the rights of its role.
    package init(book: ClaimantBook, session: ListenerOptions, logger: Logger) async throws(PostgresError) {
        let number = try await book.enrol()
        var session = session
        session.setUp.append(ClaimantBook.lock(number))
        self.number = number
        self.book = book
        self.logger = logger.labelled(name)
        lock = NotificationListener(session)
    }

    package func run(until drain: DrainSignal) async throws {
        var beats: Int64 = 0
        while !drain.isDraining, !Task.isCancelled {
            beats += 1
            do throws(PostgresError) {
                try await book.beat(number, beats)
                await drain.pause(for: Self.interval)
            } catch {
                logger.debug("the heartbeat cannot be written", ["error": .error(error)])
                await drain.pause(for: .seconds(1))
            }
        }
    }

    /// Ends the session and thus releases the lock.
    package func close() {
        lock.close()
    }

    private static let interval = Duration.seconds(5)
}
