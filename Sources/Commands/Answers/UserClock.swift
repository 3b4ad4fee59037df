import BellhopRules

/// The clock that counts for a user; without one where the tz database has neither the user's zone nor the app's.
struct UserClock: Sendable {
    let zone: Zone?

    /// As `2026-03-29 07:00 +02:00, which is 2026-03-29T05:00:00.000Z`.
    func both(_ instant: Timestamp) -> String {
        guard let zone else { return "\(instant)" }
        return "\(zone.local(at: instant)), which is \(instant)"
    }

    /// As `2026-03-29 07:00 +02:00`.
    func local(_ instant: Timestamp) -> String? {
        zone.map { "\($0.local(at: instant))" }
    }

    /// As `(07:00)`, and as `(03-30 00:30)` where the date is another one than in UTC.
    func brief(_ instant: Timestamp) -> String {
        guard let local = zone?.local(at: instant) else { return "" }
        let date = "\(local.date)"
        return "\(instant)".hasPrefix(date) ? "(\(local.time))" : "(\(date.suffix(5)) \(local.time))"
    }
}

extension Timestamp {
    /// As `2026-03-29 05:00:00`, in UTC and to the second.
    var toTheSecond: String {
        String("\(self)".prefix(19)).replacing("T", with: " ")
    }
}
