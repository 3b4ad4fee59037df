extension Zone {
    /// A zone as another library knows it, from its offsets over a stretch of time.
    ///
    /// For an app that has no file of the tz database at hand but a zone of its platform. The offset is asked for every
    /// six hours of the stretch and each change is found to the second, so a year costs about 1,500 questions. A change
    /// that is taken back within six hours goes unseen; before and after the stretch the nearest offset lasts. Offsets
    /// beyond 26 hours are moved to that.
    ///
    /// - Parameters:
    ///   - name: the name that the zone goes by.
    ///   - start: where the stretch begins.
    ///   - end: where it ends; as far ahead as somebody will ask.
    ///   - offset: seconds ahead of UTC at an instant.
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
