import BellhopRules

/// The heading and the time of one row, as the notification centre on the web shows them.
func row(_ createdAt: Timestamp, now: Timestamp, zone: Zone, language: LanguageTag) -> (day: String, time: String) {
    let words = TimeWords(for: language)
    return (words.day(of: createdAt, now: now, in: zone), words.time(of: createdAt, now: now, in: zone))
}
