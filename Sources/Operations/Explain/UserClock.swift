package import BellhopRules

/// The user's clock.
///
/// It has no zone if the tz database contains neither the user's zone nor the app's.
package struct UserClock: Sendable {
    package let zone: Zone?

    package init(zone: Zone?) {
        self.zone = zone
    }

    /// Returns an instant such as `2026-03-29 07:00 +02:00, which is 2026-03-29T05:00:00.000Z`.
    package func both(_ instant: Timestamp) -> String {
        guard let zone else { return "\(instant)" }
        return "\(zone.local(at: instant)), which is \(instant)"
    }

    /// Returns a local time such as `2026-03-29 07:00 +02:00`.
    package func local(_ instant: Timestamp) -> String? {
        zone.map { "\($0.local(at: instant))" }
    }

    /// Returns `(07:00)`, or `(03-30 00:30)` if the date differs from the date in UTC.
    package func brief(_ instant: Timestamp) -> String {
        guard let local = zone?.local(at: instant) else { return "" }
        let date = "\(local.date)"
        return "\(instant)".hasPrefix(date) ? "(\(local.time))" : "(\(date.suffix(5)) \(local.time))"
    }
}

extension Timestamp {
    /// The instant in UTC, to the second, such as `2026-03-29 05:00:00`.
    package var toTheSecond: String {
        String("\(self)".prefix(19)).replacing("T", with: " ")
    }
}
