extension Zone {
    /// Returns the instant of a date and time on the zone's clocks.
    ///
    /// It is the first instant at which the clocks have reached that reading. If the clocks show the reading twice, it
    /// is the first time; if a change skips the reading, it is the first instant after the change. The result is `nil`
    /// for a day that the zone does not have (Samoa's 30 December 2011), and outside the years 1970 to 9999. A later
    /// reading never gives an earlier instant.
    public func instant(of date: LocalDate, at time: LocalTime) -> Timestamp? {
        let midnight = date.daysSinceEpoch * 86_400
        let first = firstInstant(reaching: midnight)
        guard first + offset(atSeconds: first) < midnight + 86_400 else { return nil }
        return Timestamp(wholeSeconds: firstInstant(reaching: midnight + time.secondOfDay))
    }

    /// Returns every instant at which the zone's clocks show a date and time, in order: none if a change skips it, two
    /// if it occurs twice.
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

    /// Returns the first second at which the clocks show a reading or a later one, both counted in seconds since 1970.
    ///
    /// The search goes through the periods, starting before any clock on Earth can show the reading. In the first
    /// period whose last reading is later, either the reading occurs, or the period begins after it.
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
