import IntegrationSupport

/// Defines how much of a table a statement may read.
struct Keys: Sendable {
    /// The first expression of each index.
    ///
    /// A condition only on later columns reads the whole index.
    let heads: [String: String]

    init(in servers: ServerFixture) async throws {
        heads = try await IndexHeads.all(in: servers)
    }

    /// The columns that select few rows of each table, whatever its size: the rows of one user, one event, one dead
    /// letter or one turn in a backlog.
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

    /// Tables that hold a handful of rows, whatever users and producers do.
    private static let small: Set<String> = [
        "breakers", "claimants", "discarded_events", "holds", "processes", "provider_budgets", "reached_platforms",
        "replays", "retired",
        "schema_migrations",
    ]

    /// Returns whether a scan reads few rows.
    ///
    /// Due rows are read in order from an index that contains nothing else, and only as far as necessary.
    func suffice(for look: TableScan) -> Bool {
        if Self.small.contains(look.table) { return true }
        // The scan gets row addresses, as many as it is to read.
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

    /// Returns whether the condition is a range: many deliveries may follow a turn, but few have the same turn.
    private static func isRange(_ column: String, in look: TableScan) -> Bool {
        column == "queued_at" && !look.condition.contains("(queued_at = ")
    }

    /// Returns the table to which a partition belongs.
    private static func whole(_ table: String) -> String {
        guard let cut = table.lastIndex(of: "_"), Int(table[table.index(after: cut)...]) != nil else { return table }
        return String(table[..<cut])
    }

    /// Returns whether the condition names the column: `(user_id = …`, never `other_id = …`.
    private static func isGiven(_ column: String, in look: TableScan) -> Bool {
        look.condition.contains("(\(column) = ") || look.condition.contains("(\(column) >= ")
    }
}
