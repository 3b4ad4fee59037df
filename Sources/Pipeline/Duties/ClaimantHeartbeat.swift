package import ServiceRuntime
package import Store

/// Proves that a process with claims is alive, so that schedulers detect its end.
///
/// It writes a heartbeat every five seconds, and holds a lock in a dedicated session, which the server ends with the
/// process. During a drain it writes no heartbeat; the lock lasts until the process ends.
package final class ClaimantHeartbeat: Service {
    package let name = "claimant"
    /// The identity of this process in its claims.
    package var claimant: Claimant { Claimant(number: session.number) }
    private let book: ClaimantBook
    private let session: ClaimantSession
    private let logger: Logger

    /// Creates the heartbeat of a process that is registered by `session`.
    package init(book: ClaimantBook, session: ClaimantSession, logger: Logger) {
        self.book = book
        self.session = session
        self.logger = logger.labelled(name)
    }

    package func run(until drain: DrainSignal) async throws {
        var beats: Int64 = 0
        while !drain.isDraining, !Task.isCancelled {
            beats += 1
            do throws(StoreError) {
                try await book.beat(session.number, beats)
                await drain.pause(for: Self.interval)
            } catch {
                logger.debug("the heartbeat cannot be written", ["error": .error(error)])
                await drain.pause(for: .seconds(1))
            }
        }
    }

    /// Ends the session and thus releases the lock.
    package func close() {
        session.close()
    }

    private static let interval = Duration.seconds(5)
}
