/// The reading of a zone's clocks at an instant.
public struct LocalDateTime: Hashable, Sendable {
    /// The date.
    public let date: LocalDate
    /// The hour and minute.
    public let time: LocalTime
    /// The second of the minute, 0 to 59.
    public let second: Int
    /// The offset of the clocks in seconds ahead of UTC.
    public let offset: Int

    /// Creates the reading of a clock that shows the given number of seconds after its own 1970-01-01T00:00:00, which
    /// is not that of UTC.
    init(localSeconds: Int, offset: Int) {
        let secondOfDay = localSeconds.modulo(86_400)
        date = LocalDate(daysSinceEpoch: localSeconds.quotient(86_400))
        time = LocalTime(secondOfDay: secondOfDay)
        second = secondOfDay % 60
        self.offset = offset
    }
}

extension LocalDateTime: CustomStringConvertible {
    /// The date, the time and the offset from UTC: `2026-03-29 03:00 +02:00`.
    ///
    /// Seconds are shown only if they are not zero, both in the time and in the offset.
    public var description: String {
        let seconds = second == 0 ? "" : ":" + second.padded(to: 2)
        return "\(date) \(time)\(seconds) \(Self.text(ofOffset: offset))"
    }

    /// Returns the offset as text: `+02:00`, `-03:30`, or `-00:44:30` for an offset with seconds.
    public static func text(ofOffset offset: Int) -> String {
        let size = Int(clamping: offset.magnitude)
        let seconds = size % 60 == 0 ? "" : ":" + (size % 60).padded(to: 2)
        return (offset < 0 ? "-" : "+") + "\((size / 3600).padded(to: 2)):\((size / 60 % 60).padded(to: 2))\(seconds)"
    }
}
