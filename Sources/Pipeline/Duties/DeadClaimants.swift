import ServiceRuntime
import Store

/// Which claimants are dead, as far as one scheduler has seen it by its own steady clock.
///
/// Dead is a claimant whose lock is free and that has not beaten for ``patience``. Neither alone would do: a server that
/// restarts, a failover or a pooler ends sessions of processes that live, and a process that cannot write for a moment is
/// not dead. A look that fails, or comes late, begins the time anew.
struct DeadClaimants: Sendable {
    private struct Record {
        var beats: Int64
        var since: ContinuousClock.Instant
        var diedAt: ContinuousClock.Instant?
    }

    private var records: [Int64: Record] = [:]
    private var lookedAt: ContinuousClock.Instant?

    /// More than two beats.
    static let patience = Duration.seconds(12)
    /// Between two looks at most; a scheduler that was stopped, or its whole machine, has seen nothing meanwhile.
    static let longestGap = Duration.seconds(10)
    /// How long the dead are remembered: longer than any lease, and than it takes to release what they had claimed.
    static let memory = Duration.seconds(3600)

    /// Those who are dead, by the numbers that the database knows.
    var numbers: [Int64] { records.filter { $0.value.diedAt != nil }.map(\.key) }

    /// Those of whom nothing can be left.
    func forgotten(at now: ContinuousClock.Instant) -> [Int64] {
        records.filter { $0.value.diedAt.map { now - $0 > Self.memory } ?? false }.map(\.key)
    }

    /// Takes in what a look has found; whether somebody has died since the last one.
    mutating func see(_ sightings: [ClaimantBook.Sighting], at now: ContinuousClock.Instant) -> Bool {
        let isLate = lookedAt.map { now - $0 > Self.longestGap } ?? true
        lookedAt = now
        var seen: [Int64: Record] = [:]
        var hasNews = false
        for sighting in sightings {
            var record = records[sighting.number] ?? Record(beats: sighting.beats, since: now)
            if record.beats != sighting.beats { record = Record(beats: sighting.beats, since: now) }
            if record.diedAt == nil {
                if isLate || !sighting.isUnlocked { record.since = now }
                if now - record.since >= Self.patience {
                    record.diedAt = now
                    hasNews = true
                }
            }
            seen[sighting.number] = record
        }
        records = seen
        return hasNews
    }

    /// A look has failed.
    mutating func miss() {
        lookedAt = nil
    }
}
