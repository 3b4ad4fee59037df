/// The hours of the day in which a user wants no pushes.
///
/// The window is `[start, end)` by the hour that the clocks show, and can wrap around midnight: 22 to 7 includes 22:00
/// and excludes 7:00. A window that ends at its start is empty.
public struct QuietHours: Hashable, Sendable {
    /// Whether the user has turned them on.
    public let enabled: Bool
    /// The first hour of the window, 0 to 23.
    public let startHour: Int
    /// The first hour after the window, 0 to 23.
    public let endHour: Int

    /// Creates quiet hours; hours outside 0 to 23 are moved to the nearer limit.
    public init(enabled: Bool, startHour: Int, endHour: Int) {
        self.enabled = enabled
        self.startHour = min(max(startHour, 0), 23)
        self.endHour = min(max(endHour, 0), 23)
    }

    /// Returns the end of the quiet hours that contain an instant; `nil` if the instant is outside them.
    ///
    /// The end is the first later instant at which the clocks show an hour outside the window, despite any clock
    /// changes until then. If a clock change skips the window's end, the quiet hours end at the change. If the window's
    /// end occurs twice, they end at its first occurrence. If the only hour outside the window does not exist that
    /// night, they last until the next day.
    public func until(_ instant: Timestamp, in zone: Zone) -> Timestamp? {
        guard enabled, startHour != endHour else { return nil }
        var seconds = instant.seconds
        guard holds(atLocal: seconds + zone.offset(atSeconds: seconds)) else { return nil }
        // The loop ends within a day of the last change, because a period of a day shows every hour.
        while true {
            let period = zone.period(atSeconds: seconds)
            let local = seconds + period.offset
            guard holds(atLocal: local) else { return Timestamp(clamping: Int64(seconds) * 1_000_000) }
            let sinceMidnight = local.modulo(86_400)
            let ahead = (endHour * 3600 - sinceMidnight).modulo(86_400)
            guard let end = period.end, end <= seconds + ahead else {
                return Timestamp(clamping: Int64(seconds + ahead) * 1_000_000)
            }
            seconds = end
        }
    }

    /// Returns whether an hour of the day is inside the window.
    public func holds(atHour hour: Int) -> Bool {
        guard enabled else { return false }
        return startHour <= endHour
            ? hour >= startHour && hour < endHour
            : hour >= startHour || hour < endHour
    }

    private func holds(atLocal seconds: Int) -> Bool {
        holds(atHour: seconds.modulo(86_400) / 3600)
    }
}
