import BellhopRules
import Postgres

extension DeadLetterGroup {
    /// From the columns of the desk's statement.
    init(_ rows: Rows, _ row: Int) throws(PostgresError) {
        fingerprint = try rows.text(row, "fingerprint")
        items = Int(clamping: try rows.integer(row, "items"))
        users = Int(clamping: try rows.integer(row, "users"))
        firstSeen = Timestamp(clamping: try rows.instant(row, "first_seen"))
        lastSeen = Timestamp(clamping: try rows.instant(row, "last_seen"))
        cause = try DeadLetterCause(rows, row)
        lastDay = Array(repeating: 0, count: 24)
    }
}

extension DeadLetterSummary {
    /// What a list reads of `dead_letters d`.
    static let columns = """
        d.dead_id, d.state, d.fingerprint, \(DeadLetterCause.columns("d.")),
        d.attempts::bigint AS attempts, d.copies::bigint AS copies, d.deaths::bigint AS deaths,
        d.replays::bigint AS replays, d.replay_id, d.resolution, d.edited_from, d.first_failed_at, d.last_failed_at,
        d.filed_at, d.notification_id, d.channel, d.target
        """

    /// From ``columns``.
    init(_ rows: Rows, _ row: Int) throws(PostgresError) {
        deadID = try rows.text(row, "dead_id")
        state = DeadLetterState(rawValue: try rows.text(row, "state")) ?? .open
        fingerprint = try rows.text(row, "fingerprint")
        cause = try DeadLetterCause(rows, row)
        attempts = Int(clamping: try rows.integer(row, "attempts"))
        copies = Int(clamping: try rows.integer(row, "copies"))
        deaths = Int(clamping: try rows.integer(row, "deaths"))
        replays = Int(clamping: try rows.integer(row, "replays"))
        replay = try rows.optionalInteger(row, "replay_id")
        resolution = try rows.optionalText(row, "resolution")
        editedFrom = try rows.optionalText(row, "edited_from")
        firstFailedAt = Timestamp(clamping: try rows.instant(row, "first_failed_at"))
        lastFailedAt = Timestamp(clamping: try rows.instant(row, "last_failed_at"))
        filedAt = Timestamp(clamping: try rows.instant(row, "filed_at"))
        delivery = DeliveryKey(
            cause.app,
            cause.user,
            try rows.optionalText(row, "notification_id"),
            try rows.optionalText(row, "channel"),
            try rows.optionalText(row, "target")
        )
    }
}

extension DeadLetterMessage {
    /// From the columns of its parts.
    init(_ rows: Rows, _ row: Int) throws(PostgresError) {
        summary = try DeadLetterSummary(rows, row)
        origin = try DeadLetterItem.Origin(rows, row)
        contentHash = try rows.bytes(row, "content_hash")
    }
}

extension DeadLetterItem.Origin {
    static let columns = "d.origin_exchange, d.origin_routing_key, d.properties, d.headers, d.body"

    /// From ``columns``.
    init(_ rows: Rows, _ row: Int) throws(PostgresError) {
        self.init(
            exchange: try rows.text(row, "origin_exchange"),
            routingKey: try rows.text(row, "origin_routing_key"),
            properties: try rows.json(row, "properties"),
            headers: try rows.json(row, "headers"),
            body: try rows.bytes(row, "body")
        )
    }
}
