import Postgres
import ServiceRuntime

/// Writes a batch for as long as it takes: waits out what will pass, and finds the one item that never will.
struct Persistence: Sendable {
    let drain: DrainSignal
    let surroundings: FrontDoor.Surroundings

    /// What became of one item.
    enum Result<Outcome: Sendable>: Sendable {
        case written(Outcome)
        /// The database will never take it; the words say why, without its values.
        case refused(String)
        /// Not written: a drain or a cancellation came first.
        case abandoned
    }

    /// One attempt for the whole batch; where the database refuses the content itself, one by one, so that only the
    /// culprit is refused.
    func write<Item: Sendable, Outcome: Sendable>(
        _ items: [Item], _ write: @Sendable ([Item]) async throws(PostgresError) -> [Outcome]
    ) async -> [Result<Outcome>] {
        guard !items.isEmpty else { return [] }
        switch await attempt(items, write) {
        case .success(let outcomes): return outcomes.map { .written($0) }
        case .failure(.abandoned): return items.map { _ in .abandoned }
        case .failure(.refused(let why)):
            guard items.count > 1 else { return [.refused(why)] }
            var results: [Result<Outcome>] = []
            for item in items { results += await self.write([item], write) }
            return results
        }
    }

    private enum GivenUp: Error {
        case refused(String)
        case abandoned
    }

    private func attempt<Item: Sendable, Outcome: Sendable>(
        _ items: [Item], _ write: @Sendable ([Item]) async throws(PostgresError) -> [Outcome]
    ) async -> Swift.Result<[Outcome], GivenUp> {
        var backoff = Backoff(base: .milliseconds(20), cap: .seconds(5))
        var chance = SystemRandomNumberGenerator()
        var failures = 0
        while true {
            do {
                let outcomes = try await write(items)
                if failures > 0 { surroundings.logger.notice("the database answers again") }
                return .success(outcomes)
            } catch {
                if error.refusesContent { return .failure(.refused(error.message)) }
                failures += 1
                surroundings.metrics.storeFailures.increment()
                // A deadlock that is retried is nothing to read about; a database that stays away is.
                if failures == 3 {
                    surroundings.logger.warning(
                        "the database does not take the batch, holding it", ["size": .integer(items.count), "error": .error(error)]
                    )
                }
            }
            // An outcome that is unknown is simply written again: every write here is idempotent.
            guard !drain.isDraining || failures < 5, !Task.isCancelled,
                (try? await Task.sleep(for: backoff.next(using: &chance))) != nil
            else { return .failure(.abandoned) }
        }
    }
}

extension PostgresError {
    /// Whether the values themselves are the trouble, so that the same statement with others would do.
    var refusesContent: Bool {
        if code == .invalidParameter { return true }
        // 22: data exceptions, 23: constraints, 54: program limits (an index entry that is too long).
        guard let state = sqlState?.rawValue else { return false }
        return ["22", "23", "54"].contains(String(state.prefix(2)))
    }
}
