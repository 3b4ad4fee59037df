extension Zone {
    /// Creates a zone from the offsets of another library over a range of time.
    ///
    /// This is for an app that has a zone of its platform and no file of the tz database. The offset is requested for
    /// every six hours of the range, and each change is located to the second, so that a year needs about 1,500
    /// requests. A change that is reverted within six hours is not detected. Before and after the range, the nearest
    /// offset applies. Offsets beyond 26 hours are limited to 26 hours.
    ///
    /// - Parameters:
    ///   - name: the name of the zone.
    ///   - start: the start of the range.
    ///   - end: the end of the range, as far in the future as queries will be.
    ///   - offset: returns the seconds ahead of UTC at an instant.
    public init(name: TimeZoneName, from start: Timestamp, to end: Timestamp, offset: (Timestamp) -> Int) {
        func ask(_ seconds: Int) -> Int {
            let answer = offset(Timestamp(clamping: Int64(seconds) * 1_000_000))
            return min(max(answer, -Zone.furthestOffset), Zone.furthestOffset)
        }
        let first = ask(start.seconds)
        var changes: [ZoneChange] = []
        var known = (seconds: start.seconds, offset: first)
        while known.seconds < end.seconds {
            let next = min(known.seconds + 21_600, end.seconds)
            guard ask(next) != known.offset else {
                known.seconds = next
                continue
            }
            var (before, after) = (known.seconds, next)
            while after - before > 1 {
                let middle = (before + after) / 2
                if ask(middle) == known.offset { before = middle } else { after = middle }
            }
            known = (after, ask(after))
            changes.append(ZoneChange(seconds: Int64(after), offset: known.offset))
        }
        self.init(name: name, first: first, changes: changes)
    }
}
