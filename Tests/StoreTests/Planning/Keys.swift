/// What of a table a statement may read.
enum Keys {
    /// The columns that lead to few rows of each table, however large it is: those of one user, one event, one letter.
    private static let narrow: [String: [String]] = [
        "notifications": ["user_id"], "deliveries": ["user_id"], "recipients": ["user_id"],
        "notification_preferences": ["profile_id"], "push_subscriptions": ["profile_id", "md5(device_token)"],
        "follows": ["user_id"], "reminders": ["user_id"], "badge_updates": ["user_id"], "events": ["id"],
        "tombstones": ["subject_hash"], "dead_letters": ["dead_id", "content_hash", "user_id", "replay_id"],
        "replay_items": ["replay_id", "dead_id"], "replays": ["id"],
    ]

    /// Tables that hold a handful of rows whatever happens.
    private static let small: Set<String> = ["breakers", "provider_budgets"]

    /// What is read as a whole on purpose, once in a while, by schedulers: an index that holds nothing else.
    private static let whole: Set<String> = ["replays_unfinished", "dead_letters_open"]

    /// What is due is read in order from an index that holds nothing else, and no further than it takes.
    static func suffice(for look: TableLook) -> Bool {
        if small.contains(look.table) || whole.contains(look.index) { return true }
        guard look.kind != "Seq Scan", !look.index.isEmpty else { return false }
        if look.isLimited, look.kind.hasPrefix("Index") { return true }
        return (narrow[look.table] ?? []).contains { column in
            // `(user_id = …`, also `(user_id)::text = …` of a cast; never `other_id = …`.
            look.condition.contains("(\(column) = ") || look.condition.contains("(\(column) >= ")
        }
    }
}
