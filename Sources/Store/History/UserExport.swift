package import Postgres

/// Everything that is stored about a user, as JSON, in parts of bounded size.
package struct UserExport: Sendable {
    private let pool: PostgresPool
    private let user: UserKey
    /// Whether the tokens and keys of devices are included in full.
    private let showsTokens: Bool

    /// Creates an export; `pool` has the rights of an admin.
    package init(of user: UserKey, showingTokens: Bool, on pool: PostgresPool) {
        self.user = user
        showsTokens = showingTokens
        self.pool = pool
    }

    /// A list of the export: its name and its rows.
    package enum Part: String, CaseIterable, Sendable {
        case recipient, preferences, devices, follows, reminders, mailOptOuts, erasures, deadLetters, audit
    }

    /// The maximum number of notifications of one page, and of dead letters and audit entries.
    package static let page = 500
    package static let most = 10_000

    /// Returns the rows of a part as JSON texts.
    package func rows(of part: Part) async throws(StoreError) -> [String] {
        var parameters: [Parameter] = [.text(user.app.text), .text(user.user.text)]
        if part == .devices { parameters.append(.boolean(showsTokens)) }
        let hash = Parameter.bytes(IdentityHash.recipient(user.app, user.user).bytes)
        if part == .erasures { parameters[1] = hash }
        if part == .deadLetters { parameters.append(hash) }
        let rows = try await pool.run(Self.statement(of: part), parameters)
        return try rows.map { (rows, row) throws(StoreError) in try rows.text(row, 0) }
    }

    /// Returns a page of the user's notifications, each with its deliveries, after a place; `nil` at the end.
    package func notifications(after place: Int64?) async throws(StoreError) -> (rows: [String], last: Int64)? {
        let rows = try await pool.run(
            Self.notifications,
            [
                .text(user.app.text), .text(user.user.text), .integer(place ?? .min), .boolean(place == nil),
                .integer(Int64(Self.page)),
            ]
        )
        guard !rows.isEmpty else { return nil }
        let texts = try rows.map { (rows, row) throws(StoreError) in try rows.text(row, 1) }
        return (texts, try rows.integer(rows.count - 1, 0))
    }

    /// Adds an audit entry about the export.
    package func audit(by operator: ActingOperator) async throws(StoreError) {
        _ = try await pool.run(
            Self.audited,
            [
                .text(`operator`.name), .text(user.app.text), .text(user.user.text), .boolean(showsTokens),
                .text(`operator`.because),
            ]
        )
    }
}

// MARK: - Statements

extension UserExport {
    /// Returns a time as RFC 3339 with milliseconds.
    private static func time(_ column: String) -> String {
        "to_char(\(column) AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')"
    }

    private static func statement(of part: Part) -> Statement {
        switch part {
        case .recipient: recipient
        case .preferences: preferences
        case .devices: devices
        case .follows: follows
        case .reminders: reminders
        case .mailOptOuts: mailOptOuts
        case .erasures: erasures
        case .deadLetters: deadLetters
        case .audit: audit
        }
    }

    private static let recipient = Statement(
        """
        SELECT jsonb_build_object('locale', locale, 'timezone', timezone, 'email', email, 'pushEnabled', push_enabled,
                   'emailEnabled', email_enabled, 'updatedAt', \(time("updated_at")))::text
        FROM recipients WHERE app = $1 AND user_id = $2
        """,
        effect: .reads
    )

    private static let preferences = Statement(
        """
        SELECT jsonb_build_object('preferences', preferences, 'updatedAt', \(time("updated_at")))::text
        FROM notification_preferences WHERE app = $1 AND profile_id = $2
        """,
        effect: .reads
    )

    /// A masked token has its last four characters only, which are enough to recognise it.
    private static let devices = Statement(
        """
        SELECT jsonb_build_object('id', id, 'platform', platform, 'provider', provider,
                   'token', CASE WHEN $3 THEN device_token ELSE '…' || right(device_token, 4) END,
                   'subscription', CASE WHEN $3 THEN subscription END, 'permission', permission,
                   'environment', environment, 'registeredAt', \(time("registered_at")),
                   'lastSeenAt', \(time("last_seen_at")), 'revokedAt', \(time("revoked_at")),
                   'revokeReason', revoke_reason)::text
        FROM push_subscriptions WHERE app = $1 AND profile_id = $2 ORDER BY id
        """,
        effect: .reads
    )

    private static let follows = Statement(
        """
        SELECT jsonb_build_object('topic', topic, 'role', role, 'muted', muted, 'since', \(time("since")),
                   'removedAt', \(time("removed_at")))::text
        FROM follows WHERE app = $1 AND user_id = $2 ORDER BY topic
        """,
        effect: .reads
    )

    private static let reminders = Statement(
        """
        SELECT jsonb_build_object('id', id, 'localTime', local_time, 'days', days, 'timezone', timezone,
                   'eventType', event_type, 'title', title, 'body', body, 'nextFireAt', \(time("next_fire_at")),
                   'removedAt', \(time("removed_at")))::text
        FROM reminders WHERE app = $1 AND user_id = $2 ORDER BY id
        """,
        effect: .reads
    )

    private static let mailOptOuts = Statement(
        """
        SELECT jsonb_build_object('email', r.email, 'optedOutAt', \(time("o.opted_out_at")))::text
        FROM recipients r JOIN mail_opt_outs o ON o.app = r.app AND o.address_hash = email_hash(r.app, r.email)
        WHERE r.app = $1 AND r.user_id = $2
        """,
        effect: .reads
    )

    private static let erasures = Statement(
        """
        SELECT jsonb_build_object('erasedAt', \(time("deleted_at")), 'returnedAt', \(time("returned_at")))::text
        FROM tombstones WHERE app = $1 AND subject_hash = $2
        """,
        effect: .reads
    )

    /// The content is left out, because a message may name other users.
    private static let deadLetters = Statement(
        """
        SELECT jsonb_build_object('id', dead_id, 'stage', stage, 'reason', reason, 'state', state, 'eventType', event_type,
                   'eventId', event_id, 'firstFailedAt', \(time("first_failed_at")),
                   'lastFailedAt', \(time("last_failed_at")))::text
        FROM dead_letters
        WHERE people @> ARRAY[encode($3, 'hex') COLLATE "C"] OR app = $1 AND user_id = $2
        ORDER BY first_failed_at, dead_id LIMIT \(most)
        """,
        effect: .reads
    )

    /// The operators are left out: they are other persons.
    private static let audit = Statement(
        """
        SELECT jsonb_build_object('at', \(time("at")), 'act', act, 'items', items)::text
        FROM audit WHERE filter ->> 'user' = $2 AND coalesce(filter ->> 'app', $1) = $1 ORDER BY number LIMIT \(most)
        """,
        effect: .reads
    )

    private static let notifications = Statement(
        """
        SELECT i.id, (jsonb_build_object('id', notification_name(i.id), 'eventId', i.event_id, 'type', i.type,
                   'title', i.title, 'body', i.body,
                   'priority', CASE i.urgency WHEN 0 THEN 'high' WHEN 1 THEN 'normal' ELSE 'low' END,
                   'venueId', i.venue_id, 'link', notification_link(i.link_web, i.link_mobile, i.link_scheme),
                   'data', i.data::jsonb, 'targetId', i.target_id, 'metadata', i.metadata::jsonb,
                   'createdAt', \(time("i.created_at")), 'sentAt', \(time("i.said_at")),
                   'readAt', \(time("i.read_at")), 'seenAt', \(time("i.seen_at")),
                   'archivedAt', \(time("i.archived_at")), 'snoozedUntil', \(time("i.snoozed_until")))
               || jsonb_build_object('deliveries', coalesce((
                   SELECT jsonb_agg(jsonb_build_object('channel', target_channel(l.target),
                              'target', target_name(l.target), 'state', delivery_state(l.state), 'reason', l.reason,
                              'attempts', l.attempts, 'providerMessageId', l.provider_message_id,
                              'dueAt', \(time("l.due_at")), 'updatedAt', \(time("l.updated_at"))) ORDER BY l.target)
                   FROM ledger l WHERE l.person = i.person AND l.id = i.id), '[]')))::text
        FROM inbox i
        WHERE i.person = (SELECT p.number FROM people p WHERE p.app = $1 AND p.user_id = $2)
          AND (i.id > $3 OR $4)
        ORDER BY i.id LIMIT $5
        """,
        effect: .reads
    )

    private static let audited = Statement(
        """
        INSERT INTO audit (operator, act, filter, items, because)
        VALUES ($1, \(AuditAct.exportUser.sql), jsonb_build_object('app', $2::text, 'user', $3::text, 'tokens', $4::boolean), 1, $5)
        """
    )
}
