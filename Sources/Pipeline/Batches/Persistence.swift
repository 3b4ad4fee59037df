import Postgres
import ServiceRuntime

/// Writes a batch for as long as it takes: waits out what will pass, and finds the one item that never will.
struct Persistence: Sendable {
    let drain: DrainSignal
    let context: PipelineContext

    /// What became of one item.
    enum Result<Outcome: Sendable>: Sendable {
        case written(Outcome)
        /// The database will never take it; the words say why, without its values.
        case refused(String)
        /// Not written: a drain or a cancellation came first.
        case abandoned
    }

    /// One attempt for the whole batch; where the database refuses the content itself, one for each half, and so on, so that
    /// only the culprit is refused, and finding it among a thousand costs some twenty statements.
    func write<Item: Sendable, Outcome: Sendable>(
        _ items: [Item],
        _ write: @Sendable ([Item]) async throws(PostgresError) -> [Outcome]
    ) async -> [Result<Outcome>] {
        guard !items.isEmpty else { return [] }
        switch await attempt(items, write) {
        case .success(let outcomes): return outcomes.map { .written($0) }
        case .failure(.abandoned): return items.map { _ in .abandoned }
        case .failure(.refused(let why)):
            guard items.count > 1 else { return [.refused(why)] }
            let middle = items.count / 2
            return await self.write(Array(items[..<middle]), write) + self.write(Array(items[middle...]), write)
        }
    }

    /// Repeats a statement whose content cannot be at fault; nil where a drain or a cancellation came first.
    func insist<Value: Sendable>(_ work: @Sendable () async throws(PostgresError) -> Value) async -> Value? {
        switch await write([()], { _ throws(PostgresError) in [try await work()] }).first {
        case .written(let value): return value
        case .abandoned, nil: return nil
        case .refused(let why):
            // Nothing of ours may be refused; whoever reads this finds what of theirs stays undone.
            context.logger.error("the database refuses a statement for its content", ["error": .text(why)])
            return nil
        }
    }

    private enum GivenUp: Error {
        case refused(String)
        case abandoned
    }

    private func attempt<Item: Sendable, Outcome: Sendable>(
        _ items: [Item],
        _ write: @Sendable ([Item]) async throws(PostgresError) -> [Outcome]
    ) async -> Swift.Result<[Outcome], GivenUp> {
        var pauses = Pauses(drain: drain, time: context.time, chance: context.chance)
        while true {
            do throws(PostgresError) {
                let outcomes = try await write(items)
                if pauses.failures > 2 { context.logger.notice("the database takes batches again") }
                return .success(outcomes)
            } catch {
                guard !error.refusesContent else { return .failure(.refused(error.message)) }
                context.metrics.storeFailures.increment()
                // A deadlock that is retried is nothing to read about; a database that stays away is.
                if pauses.failures == 2 {
                    context.logger.warning(
                        "the database does not take the batch, holding it",
                        ["size": .integer(items.count), "error": .error(error)]
                    )
                }
            }
            // An outcome that is unknown is simply written again: every write here is idempotent.
            guard await pauses.pause() else { return .failure(.abandoned) }
        }
    }
}

extension PostgresError {
    /// Whether the values themselves are the trouble, so that the same statement with others would do.
    var refusesContent: Bool {
        if code == .invalidParameter { return true }
        return switch sqlState {
        case SQLState.Category.data?, SQLState.Category.integrityConstraint?, SQLState.Category.programLimits?: true
        default: false
        }
    }
}
