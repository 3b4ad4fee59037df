import ServiceRuntime

/// The messages of one channel that were sent and not confirmed, by their numbers.
///
/// After confirms are switched on, the broker numbers the messages of a channel 1, 2, 3, …. It answers each number
/// once, alone or together with all before it.
struct ConfirmWindow<Item> {
    private struct Entry {
        var item: Item?
        let sent: ContinuousClock.Instant
        var returned: String?
    }

    /// An answered message, with the broker's reason if it had been returned before.
    typealias Answered = (item: Item, returned: String?)

    /// The number of the first entry of `entries`.
    private var first: UInt64 = 1
    private var entries = Queue<Entry>()

    /// The number of open messages.
    private(set) var count = 0

    mutating func add(_ item: Item, at now: ContinuousClock.Instant) {
        entries.append(Entry(item: item, sent: now))
        count += 1
    }

    /// Closes and returns the messages of an answer for `number`.
    ///
    /// With `multiple` these are all open ones up to it, and 0 means all.
    ///
    /// Returns `nil` for a number that was never assigned.
    mutating func answer(_ number: UInt64, multiple: Bool) -> [Answered]? {
        let end = first + UInt64(entries.count)
        guard number < end else { return nil }
        if multiple {
            let last = number == 0 ? end - 1 : number
            return last >= first ? take(0...Int(last - first)) : []
        }
        guard number > 0 else { return nil }
        guard number >= first else { return [] }
        let index = Int(number - first)
        return take(index...index)
    }

    /// Records that the broker returned the oldest open message that `matches` and was not returned before.
    mutating func markReturned(_ reason: String, where matches: (Item) -> Bool) {
        let index = entries.indices.first { entries[$0].returned == nil && entries[$0].item.map(matches) == true }
        if let index { entries[index].returned = reason }
    }

    /// Closes and returns the messages that were sent more than `timeout` ago; a late answer for them is ignored.
    mutating func expire(_ timeout: Duration, at now: ContinuousClock.Instant) -> [Answered] {
        var expired: [Answered] = []
        while let oldest = entries.first, oldest.sent.duration(to: now) > timeout { expired += take(0...0) }
        return expired
    }

    /// Closes and returns all open messages.
    mutating func takeAll() -> [Answered] { entries.isEmpty ? [] : take(0...entries.count - 1) }

    private mutating func take(_ range: ClosedRange<Int>) -> [Answered] {
        var taken: [Answered] = []
        for index in range {
            guard let item = entries[index].item else { continue }
            taken.append((item, entries[index].returned))
            entries[index].item = nil
        }
        count -= taken.count
        var closed = 0
        while closed < entries.count, entries[closed].item == nil { closed += 1 }
        entries.removeFirst(closed)
        first += UInt64(closed)
        return taken
    }
}
