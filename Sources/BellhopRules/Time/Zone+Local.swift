extension Zone {
    /// The instant that a date and time on the clocks of the zone stands for.
    ///
    /// It is the first instant at which the clocks have reached that reading: where they show it twice, the first time;
    /// where a change skips it, the first instant after the change. Nil for a day that the zone does not have (Samoa's
    /// 30 December 2011), and outside the years 1970 to 9999. A later reading never stands for an earlier instant.
    public func instant(of date: LocalDate, at time: LocalTime) -> Timestamp? {
        let midnight = date.daysSinceEpoch * 86_400
        let first = firstInstant(reaching: midnight)
        guard first + offset(atSeconds: first) < midnight + 86_400 else { return nil }
        return Timestamp(wholeSeconds: firstInstant(reaching: midnight + time.secondOfDay))
    }

    /// Every instant at which the clocks of the zone show a date and time, in order: none where a change skips it, two
    /// where it occurs twice.
    public func instants(showing date: LocalDate, at time: LocalTime) -> [Timestamp] {
        let reading = date.daysSinceEpoch * 86_400 + time.secondOfDay
        var found: [Timestamp] = []
        var from = reading - Zone.furthestOffset
        while from <= reading + Zone.furthestOffset {
            let period = period(atSeconds: from)
            let candidate = reading - period.offset
            if candidate >= from, period.holds(at: candidate), let instant = Timestamp(wholeSeconds: candidate) {
                found.append(instant)
            }
            guard let end = period.end else { break }
            from = end
        }
        return found
    }

    /// The first second at which the clocks show a reading or a later one, both counted in seconds since 1970.
    ///
    /// Goes through the periods from before any clock on Earth can show the reading. In the first one whose last
    /// reading is later, either the reading itself occurs, or the period begins behind it.
    private func firstInstant(reaching reading: Int) -> Int {
        var from = reading - Zone.furthestOffset
        while true {
            let period = period(atSeconds: from)
            guard let end = period.end, reading >= end + period.offset else {
                return max(from, reading - period.offset)
            }
            from = end
        }
    }
}
