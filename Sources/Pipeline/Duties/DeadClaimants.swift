import ServiceRuntime
import Store

/// The dead claimants, as observed by one scheduler on its steady clock.
///
/// A claimant is dead if its lock is free and it has written no heartbeat for ``patience``. One condition alone does
/// not suffice. A server restart, a failover or a pooler ends sessions of live processes, and a process that cannot
/// write for a moment is not dead. A failed or late poll starts the period again.
struct DeadClaimants: Sendable {
    private struct Record {
        var beats: Int64
        var since: ContinuousClock.Instant
        var diedAt: ContinuousClock.Instant?
    }

    private var records: [Int64: Record] = [:]
    private var lookedAt: ContinuousClock.Instant?

    /// More than two heartbeats.
    static let patience = Duration.seconds(12)
    /// The longest gap between two polls.
    ///
    /// A scheduler that was suspended, possibly with its whole machine, has observed nothing meanwhile.
    static let longestGap = Duration.seconds(10)
    /// The period for which dead claimants are remembered.
    ///
    /// It is longer than any lease and the release of their claims.
    static let memory = Duration.seconds(3600)

    /// The dead claimants, by their numbers in the database.
    var numbers: [Int64] { records.filter { $0.value.diedAt != nil }.map(\.key) }

    /// Returns the dead claimants of which no claim can remain.
    func forgotten(at now: ContinuousClock.Instant) -> [Int64] {
        records.filter { $0.value.diedAt.map { now - $0 > Self.memory } ?? false }.map(\.key)
    }

    /// Adds the result of a poll, and returns whether a claimant has died since the last one.
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

    /// Notes a failed poll.
    mutating func miss() {
        lookedAt = nil
    }
}
