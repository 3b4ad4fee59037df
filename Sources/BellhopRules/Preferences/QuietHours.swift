/// The hours of the day in which a user wants to be left alone.
///
/// The window is `[start, end)` by the hour that the clocks show, and wraps midnight: 22 to 7 holds at 22:00 and no
/// more at 7:00. A window that ends where it starts is none.
public struct QuietHours: Hashable, Sendable {
    /// Whether the user has turned them on.
    public let enabled: Bool
    /// The first hour of the window, 0 to 23.
    public let startHour: Int
    /// The first hour after it, 0 to 23.
    public let endHour: Int

    /// Takes hours, and moves those outside 0 to 23 to the nearer end.
    public init(enabled: Bool, startHour: Int, endHour: Int) {
        self.enabled = enabled
        self.startHour = min(max(startHour, 0), 23)
        self.endHour = min(max(endHour, 0), 23)
    }

    /// When the quiet that holds at an instant is over; nil where it is not quiet.
    ///
    /// It is the first later instant at which the clocks show an hour outside the window, whatever changes come in
    /// between: a window that a change skips the end of is over at the change; one whose end occurs twice is over the
    /// first time; one whose only hour outside does not exist that night lasts until the next day.
    public func until(_ instant: Timestamp, in zone: Zone) -> Timestamp? {
        guard enabled, startHour != endHour else { return nil }
        var seconds = instant.seconds
        guard holds(atLocal: seconds + zone.offset(atSeconds: seconds)) else { return nil }
        // Ends within a day of the last change: a period that lasts a day shows every hour.
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

    /// Whether an hour of the day is inside the window.
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
