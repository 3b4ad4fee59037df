import Store

/// Who waits to be looked at: whoever was spoken of before whoever's turn it is anyway.
///
/// Nobody waits twice, and whoever moves up leaves a place behind that counts no more.
struct LookQueue {
    /// How soon.
    enum Rank: Int, Comparable {
        /// Once nobody else waits: everybody is looked at, for no reason of their own.
        case whenQuiet
        /// Something has happened to the inbox, or a stream has begun.
        case soon

        static func < (one: Rank, other: Rank) -> Bool { one.rawValue < other.rawValue }
    }

    /// Who is looked at together.
    ///
    /// Not a tuple: Swift 6.0 crashes over one that leaves a lock by a call.
    struct Turn {
        let readers: [RecipientKey]
        let rank: Rank
    }

    private struct Place {
        let reader: RecipientKey
        let number: UInt64
    }

    private var waiting: [RecipientKey: (rank: Rank, number: UInt64)] = [:]
    private var places: [Rank: [Place]] = [:]
    private var latest: UInt64 = 0

    var isEmpty: Bool { waiting.isEmpty }

    mutating func add(_ reader: RecipientKey, _ rank: Rank) {
        if let known = waiting[reader], known.rank >= rank { return }
        latest += 1
        waiting[reader] = (rank, latest)
        places[rank, default: []].append(Place(reader: reader, number: latest))
        clear(.whenQuiet)
    }

    mutating func remove(_ reader: RecipientKey) {
        guard let known = waiting.removeValue(forKey: reader) else { return }
        clear(known.rank)
    }

    /// All who are to be looked at soon; where there are none, a few of the others, so that somebody new waits for few.
    mutating func take() -> Turn {
        let rank: Rank = places[.soon]?.contains(where: isValid) ?? false ? .soon : .whenQuiet
        let all = (places[rank] ?? []).filter(isValid)
        let taken = rank == .soon ? all[...] : all.prefix(Self.mostAtOnce)
        places[rank] = Array(all.dropFirst(taken.count))
        for place in taken { waiting[place.reader] = nil }
        return Turn(readers: taken.map(\.reader), rank: rank)
    }

    private static let mostAtOnce = 256

    private func isValid(_ place: Place) -> Bool { waiting[place.reader]?.number == place.number }

    /// Throws away places that count no more, once there are more of them than of the others.
    private mutating func clear(_ rank: Rank) {
        guard let count = places[rank]?.count, count > 2 * waiting.count + 64 else { return }
        places[rank] = places[rank]?.filter(isValid)
    }
}
