import BellhopRules

/// The data that an app keeps on the device to decide as the server does.
struct LocalRules {
    /// The app's types in the order of its settings page; the server's catalogue has the same.
    let schema: PreferenceSchema
    /// The zone of the user's clock.
    let zone: Zone

    /// What happens to a notification that arrives, or is due, now.
    enum Answer: Equatable {
        case show
        case muted
        case quiet(until: Timestamp)
    }

    /// By the preferences of any age, from the server or the device; nil if the user has no preferences.
    func answer(for type: EventType, stored: JSONValue?, now: Timestamp) -> Answer {
        let preferences = PreferenceDocument(normalizing: stored, schema: schema, now: now)
        guard preferences.enabled, preferences.toggles.contains(where: { $0.type == type && $0.isOn }) else {
            return .muted
        }
        if let end = preferences.pausedUntil { return .quiet(until: end) }
        if let end = preferences.quietHours.until(now, in: zone) { return .quiet(until: end) }
        return .show
    }

    /// The time at which a local reminder fires: this time on the user's clock, but never inside the quiet hours.
    func nextReminder(at time: LocalTime, quietHours: QuietHours, after now: Timestamp) -> Timestamp? {
        guard let slot = LocalSchedule(at: time, in: zone).next(after: now) else { return nil }
        return quietHours.until(slot.instant, in: zone) ?? slot.instant
    }
}
