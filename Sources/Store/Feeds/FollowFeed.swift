import BellhopRules
import Postgres

/// Applies `follow.added` and `follow.removed`.
///
/// The caller holds the locks of ``FeedLocks``, so that no other transaction writes between the read and the write
/// here.
enum FollowFeed {
    static func apply(_ words: [UserUpdate<FollowUpdateRow>], on connection: PostgresConnection) throws(PostgresError) {
        let topics: Parameter = .textArray(words.map(\.content.topic.text))
        let stored = try connection.run(lookUp, UserUpdate.who(words) + [topics])
        var columns = FollowColumns()
        for row in stored.indices {
            guard let place = try stored.place(row, 0, in: words.indices) else { continue }
            let word = words[place]
            var record = try FollowRecord(stored, row) ?? FollowRecord(at: word.saidAt)
            record.hear(word.content, at: word.saidAt)
            columns.append(record, word)
        }
        _ = try connection.run(write, columns.parameters)
    }

    /// Keeps the follows of a device whose token has changed.
    static func rename(_ words: [UserUpdate<SubscriptionUpdate>], on connection: PostgresConnection)
        throws(PostgresError)
    {
        let names = words.compactMap { word -> (former: String, present: String)? in
            guard let former = word.content.replaces else { return nil }
            let key = UserKey(app: word.app, user: word.user)
            return (IdentityHash.device(former, of: key), IdentityHash.device(word.content.token, of: key))
        }
        let who = Array(UserUpdate.who(words).prefix(2))
        _ = try connection.run(rename, who + [.textArray(names.map(\.former)), .textArray(names.map(\.present))])
    }

    /// Reads the stored state of each follow in the updates.
    ///
    /// Users who were erased since are omitted.
    private static let lookUp = Statement(
        """
        SELECT r.position, \(StoredFollow.columns(of: "f")), f.since, f.removed_at, f.source_time, f.whole_time, f.role_time,
               f.muted_time, f.ended_time, f.parts
        FROM (
            SELECT generate_subscripts($1::text[], 1)::bigint AS position, unnest($1::text[]) AS app,
                   unnest($2::text[]) AS user_id, unnest($3::timestamptz[]) AS said_at, unnest($4::bytea[]) AS person,
                   unnest($5::text[]) AS topic
        ) AS r
        LEFT JOIN LATERAL (
            SELECT * FROM follows WHERE user_id = r.user_id AND app = r.app AND topic = r.topic OFFSET 0
        ) AS f ON true
        WHERE \(Tombstone.spares("r.person"))
        """,
        effect: .reads
    )

    /// A follow begins with its row, and begins again if it had ended.
    private static let write = Statement(
        """
        INSERT INTO follows AS f
            (app, user_id, topic, role, muted, devices, since, removed_at, source_time, whole_time, role_time, muted_time,
             ended_time, parts, vouched_time)
        SELECT * FROM unnest(
            $1::text[], $2::text[], $3::text[], $4::text[], $5::boolean[], $6::text[], $7::timestamptz[],
            $8::timestamptz[], $9::timestamptz[], $10::timestamptz[], $11::timestamptz[], $12::timestamptz[],
            $13::timestamptz[], $14::text[], $15::timestamptz[]
        ) AS r (app, user_id, topic)
        ORDER BY r.user_id, r.app, r.topic
        ON CONFLICT (user_id, app, topic) DO UPDATE SET
            role = excluded.role, muted = excluded.muted, devices = excluded.devices, since = excluded.since,
            removed_at = excluded.removed_at, source_time = excluded.source_time, whole_time = excluded.whole_time,
            role_time = excluded.role_time, muted_time = excluded.muted_time, ended_time = excluded.ended_time,
            parts = excluded.parts, vouched_time = greatest(f.vouched_time, excluded.vouched_time),
            followed_at = CASE
                WHEN f.removed_at IS NOT NULL AND excluded.removed_at IS NULL THEN now() ELSE f.followed_at
            END
        """
    )

    /// Renames a device unless an update of the new token exists.
    private static let rename = Statement(
        """
        UPDATE follows f
        SET parts = replace(f.parts, r.former, r.present), devices = replace(f.devices, r.former, r.present)
        FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS r (app, user_id, former, present)
        WHERE f.user_id = ANY (ARRAY[r.user_id]) AND f.app = r.app
          AND strpos(f.parts, r.former) > 0 AND strpos(f.parts, r.present) = 0
        """
    )
}

extension FollowRecord {
    /// Creates a record from the columns of `FollowFeed.lookUp`; `nil` if nothing is stored.
    fileprivate init?(_ rows: Rows, _ row: Int) throws(PostgresError) {
        guard let since = try rows.timestamp(row, 4) else { return nil }
        self.init(
            Stored(
                follow: try StoredFollow(rows, row, from: 1),
                since: since,
                removedAt: try rows.timestamp(row, 5),
                saidAt: try rows.moment(row, 6),
                wholeSaidAt: try rows.timestamp(row, 7),
                roleSaidAt: try rows.timestamp(row, 8),
                mutedSaidAt: try rows.timestamp(row, 9),
                endSaidAt: try rows.timestamp(row, 10),
                parts: try rows.optionalText(row, 11).map { Array($0.utf8) }
            )
        )
    }
}

/// The columns of `FollowFeed.write`.
private struct FollowColumns {
    private var words: [UserUpdate<FollowUpdateRow>] = []
    private var records: [FollowRecord] = []

    mutating func append(_ record: FollowRecord, _ word: UserUpdate<FollowUpdateRow>) {
        records.append(record)
        words.append(word)
    }

    var parameters: [Parameter] {
        let who: [Parameter] = [
            .textArray(words.map(\.app.text)), .textArray(words.map(\.user.text)),
            .textArray(words.map(\.content.topic.text)),
        ]
        let says: [Parameter] = [
            .textArray(records.map(\.role?.text)), .booleanArray(records.map(\.isMuted)), texts(\.devicesJSON),
        ]
        let times: [Parameter] = [
            instants(\.since), instants(\.removedAt), instants(\.saidAt), instants(\.wholeSaidAt),
            instants(\.roleSaidAt), instants(\.mutedSaidAt), instants(\.endSaidAt),
        ]
        return who + says + times + [texts(\.partsJSON), UserUpdate.vouched(words)]
    }

    private func instants(_ read: (FollowRecord) -> Timestamp?) -> Parameter {
        .instantArray(records.map { read($0)?.microseconds })
    }

    private func texts(_ read: (FollowRecord) -> [UInt8]?) -> Parameter {
        .textArray(records.map { read($0).map { String(decoding: $0, as: UTF8.self) } })
    }
}

/// An update of one follow.
struct FollowUpdateRow: Sendable {
    let topic: Topic
    /// The token hash of the updated device; `nil` for the whole follow.
    let device: String?
    /// Whether the update ends the follow or a device's part in it.
    let isEnd: Bool
    /// Whether the end of the whole follow also ends the role.
    let endsRole: Bool
    let role: FieldUpdate<FollowRole>
    let muted: FieldUpdate<Bool>

    /// Creates the update of a `follow.added` message.
    init(added update: FollowUpdate, _ key: UserKey) {
        topic = update.topic
        device = update.token.map { IdentityHash.device($0, of: key) }
        isEnd = false
        endsRole = false
        role = update.role
        muted = update.muted
    }

    /// Creates the update of a `follow.removed` message, or of a user's client that unfollows.
    ///
    /// Only the app's servers grant a role, so only they end it: a user who unfollows and follows again has it again.
    init(removed topic: Topic, _ token: DeviceToken?, _ key: UserKey, isFromClient: Bool) {
        self.topic = topic
        device = token.map { IdentityHash.device($0, of: key) }
        isEnd = true
        endsRole = !isFromClient
        role = .unchanged
        muted = .unchanged
    }
}
