import Store

/// The users whose inboxes are to be read.
///
/// Users with a reported change come before routine reads.
///
/// A user has at most one valid place. A user who moves to a higher rank leaves an invalid place behind.
struct InboxPollQueue {
    /// The urgency of a read.
    enum PollPriority: Int, Comparable {
        /// For routine reads, when no other user waits.
        case whenQuiet
        /// For a changed inbox or a new stream.
        case soon

        static func < (one: PollPriority, other: PollPriority) -> Bool { one.rawValue < other.rawValue }
    }

    /// Users who are read together.
    ///
    /// This is not a tuple, because Swift 6.0 crashes on a tuple that a call returns out of a lock.
    struct Batch {
        let readers: [UserKey]
        let rank: PollPriority
    }

    private struct Place {
        let reader: UserKey
        let number: UInt64
    }

    private var waiting: [UserKey: (rank: PollPriority, number: UInt64)] = [:]
    private var places: [PollPriority: [Place]] = [:]
    private var latest: UInt64 = 0

    var isEmpty: Bool { waiting.isEmpty }

    mutating func add(_ reader: UserKey, _ rank: PollPriority) {
        if let known = waiting[reader], known.rank >= rank { return }
        latest += 1
        waiting[reader] = (rank, latest)
        places[rank, default: []].append(Place(reader: reader, number: latest))
        clear(.whenQuiet)
    }

    mutating func remove(_ reader: UserKey) {
        guard let known = waiting.removeValue(forKey: reader) else { return }
        clear(known.rank)
    }

    /// Returns all urgent users.
    ///
    /// If there are none, it returns a limited number of the others, so that a new urgent user waits only for these.
    mutating func take() -> Batch {
        let rank: PollPriority = places[.soon]?.contains(where: isValid) ?? false ? .soon : .whenQuiet
        let all = (places[rank] ?? []).filter(isValid)
        let taken = rank == .soon ? all[...] : all.prefix(Self.mostAtOnce)
        places[rank] = Array(all.dropFirst(taken.count))
        for place in taken { waiting[place.reader] = nil }
        return Batch(readers: taken.map(\.reader), rank: rank)
    }

    private static let mostAtOnce = 256

    private func isValid(_ place: Place) -> Bool { waiting[place.reader]?.number == place.number }

    /// Removes invalid places, once they outnumber the valid ones.
    private mutating func clear(_ rank: PollPriority) {
        guard let count = places[rank]?.count, count > 2 * waiting.count + 64 else { return }
        places[rank] = places[rank]?.filter(isValid)
    }
}
