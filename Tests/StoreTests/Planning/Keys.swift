import Workbench

/// What of a table a statement may read.
struct Keys: Sendable {
    /// By index, what it begins with: a condition on what comes after alone reads all of it.
    let heads: [String: String]

    init(in bench: Bench) async throws {
        heads = try await IndexHeads.all(in: bench)
    }

    /// The columns that lead to few rows of each table, however large it is: those of one user, one event, one letter, one
    /// turn in a backlog.
    private static let narrow: [String: [String]] = [
        "inbox": ["person"], "ledger": ["person", "queued_at"], "people": ["user_id", "number"],
        "recipients": ["user_id"],
        "notification_preferences": ["profile_id"], "push_subscriptions": ["profile_id", "md5(device_token)"],
        "follows": ["user_id"], "reminders": ["user_id"], "badge_updates": ["user_id"], "events": ["id"],
        "tombstones": ["subject_hash"], "mail_opt_outs": ["address_hash"],
        "dead_letters": ["dead_id", "content_hash", "user_id", "replay_id"],
        "replay_items": ["replay_id", "dead_id"], "erasures": ["user_id"],
        "fanouts": ["number", "event_id", "planned_to"],
        "fanout_pages": ["fanout", "after", "upto"],
    ]

    /// Tables that hold a handful of rows whatever users and producers do.
    private static let small: Set<String> = [
        "breakers", "claimants", "holds", "processes", "provider_budgets", "replays", "retired",
        "schema_migrations",
    ]

    /// What is due is read in order from an index that holds nothing else, and no further than it takes.
    func suffice(for look: TableLook) -> Bool {
        if Self.small.contains(look.table) { return true }
        // By their places, of which it was given as many as it shall read.
        if look.kind.hasPrefix("Tid ") { return true }
        guard look.kind != "Seq Scan", !look.index.isEmpty else { return false }
        if look.isLimited, look.kind.hasPrefix("Index") { return true }
        guard let head = heads[look.index], Self.isGiven(head, in: look) else { return false }
        // A page of an audience has two ends.
        if look.condition.contains("(user_id > "), look.condition.contains("(user_id <= ") { return true }
        return (Self.narrow[Self.whole(look.table)] ?? []).contains {
            Self.isGiven($0, in: look) && !Self.isRange($0, in: look)
        }
    }

    /// From a turn on there may be any number of lines; of one turn there are few.
    private static func isRange(_ column: String, in look: TableLook) -> Bool {
        column == "queued_at" && !look.condition.contains("(queued_at = ")
    }

    /// The table that a partition is of.
    private static func whole(_ table: String) -> String {
        guard let cut = table.lastIndex(of: "_"), Int(table[table.index(after: cut)...]) != nil else { return table }
        return String(table[..<cut])
    }

    /// `(user_id = …`, never `other_id = …`.
    private static func isGiven(_ column: String, in look: TableLook) -> Bool {
        look.condition.contains("(\(column) = ") || look.condition.contains("(\(column) >= ")
    }
}
