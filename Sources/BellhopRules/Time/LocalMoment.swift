/// What the clocks of a zone show at an instant.
public struct LocalMoment: Hashable, Sendable {
    /// The date.
    public let date: LocalDate
    /// Hour and minute.
    public let time: LocalTime
    /// The second of the minute, 0 to 59.
    public let second: Int
    /// Seconds by which the clocks are ahead of UTC.
    public let offset: Int

    /// The reading of a clock that is so many seconds after 1970-01-01T00:00:00, by itself and not by UTC.
    init(localSeconds: Int, offset: Int) {
        let secondOfDay = localSeconds.modulo(86_400)
        date = LocalDate(daysSinceEpoch: localSeconds.quotient(86_400))
        time = LocalTime(secondOfDay: secondOfDay)
        second = secondOfDay % 60
        self.offset = offset
    }
}

extension LocalMoment: CustomStringConvertible {
    /// Date, time and distance from UTC: `2026-03-29 03:00 +02:00`.
    ///
    /// Seconds are shown only where there are any, in the time as in the offset.
    public var description: String {
        let seconds = second == 0 ? "" : ":" + second.padded(to: 2)
        return "\(date) \(time)\(seconds) \(Self.text(ofOffset: offset))"
    }

    /// `+02:00`, `-03:30`, and `-00:44:30` where the clocks were ahead or behind by seconds.
    public static func text(ofOffset offset: Int) -> String {
        let size = Int(clamping: offset.magnitude)
        let seconds = size % 60 == 0 ? "" : ":" + (size % 60).padded(to: 2)
        return (offset < 0 ? "-" : "+") + "\((size / 3600).padded(to: 2)):\((size / 60 % 60).padded(to: 2))\(seconds)"
    }
}
