import Postgres

/// What became of entries that were to be written.
struct Stored<Work: Sendable, Outcome: Sendable>: Sendable {
    var written: [(entry: SortedBatch.Entry<Work>, outcome: Outcome)] = []
    /// The database will never take these; each is a fault of its own message.
    var refused: [SortedBatch.Entry<Fault>] = []
    /// The messages of which something is unwritten, since a drain came first.
    var unfinished: Set<Int> = []
}

extension Persistence {
    /// Writes entries, and sorts them by what became of them.
    func store<Work: Sendable, Outcome: Sendable>(
        _ entries: [SortedBatch.Entry<Work>],
        refusing fault: (Work, String) -> Fault,
        _ write: @Sendable ([Work]) async throws(PostgresError) -> [Outcome]
    ) async -> Stored<Work, Outcome> {
        var stored = Stored<Work, Outcome>()
        for (entry, result) in zip(entries, await self.write(entries.map(\.work), write)) {
            switch result {
            case .written(let outcome): stored.written.append((entry, outcome))
            case .refused(let why): stored.refused.append(.init(index: entry.index, work: fault(entry.work, why)))
            case .abandoned: stored.unfinished.insert(entry.index)
            }
        }
        return stored
    }
}
