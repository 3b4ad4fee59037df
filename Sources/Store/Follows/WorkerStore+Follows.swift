package import BellhopRules
package import Postgres

/// A user's follow of a topic, as a fan-out or a resume reads it from `follows`.
package struct StoredFollow: Hashable, Sendable {
    package let role: FollowRole?
    package let isMuted: Bool
    /// The token hashes of the following devices; `nil` for all of the user's devices.
    let devices: Set<String>?

    /// Whether only some of the user's devices follow.
    package var isOfSomeDevices: Bool { devices != nil }

    /// The columns that ``init(_:_:from:)`` reads, of the table or an alias of it.
    package static func columns(of table: String = "follows") -> String {
        "\(table).role, \(table).muted, \(table).devices"
    }

    /// Creates a follow from ``columns(of:)``, beginning at `column`.
    package init(_ rows: Rows, _ row: Int, from column: Int = 0) throws(PostgresError) {
        role = try rows.optionalText(row, .index(column)).flatMap(FollowRole.init(validating:))
        isMuted = try rows.boolean(row, .index(column + 1))
        devices = try rows.optionalText(row, .index(column + 2)).map(Self.hashes)
    }

    init(role: FollowRole?, isMuted: Bool, devices: Set<String>?) {
        self.role = role
        self.isMuted = isMuted
        self.devices = devices
    }

    /// Returns the follow as the rules require it.
    ///
    /// It names devices by their subscriptions, since tokens may change.
    package func facts(for key: UserKey, with devices: [Device]) -> DecisionFacts.Follow {
        let following = self.devices.map { hashes in
            devices.filter { hashes.contains(IdentityHash.device($0.token, of: key)) }.map(\.subscription)
        }
        return DecisionFacts.Follow(role: role, isMuted: isMuted, devices: following.map(Set.init))
    }

    /// Reads the hashes.
    ///
    /// An unreadable document names no device.
    private static func hashes(_ json: String) -> Set<String> {
        guard case .success(.array(let names)) = JSONParser(limits: .event).parse(Array(json.utf8)) else { return [] }
        return Set(names.compactMap(\.string))
    }
}

extension IdentityHash {
    /// Returns the hash that names a device in a follow, since a browser's token may be too long for a row.
    static func device(_ token: DeviceToken, of key: UserKey) -> String {
        subscription(key.app, key.user, token: token.text).hex
    }
}

/// A user and a topic: the key of a follow.
package struct FollowKey: Hashable, Sendable {
    package let recipient: UserKey
    package let topic: Topic

    package init(_ recipient: UserKey, _ topic: Topic) {
        self.recipient = recipient
        self.topic = topic
    }
}

extension WorkerStore {
    /// Returns the current follows, in one round trip.
    ///
    /// Users who do not follow, or no longer follow, are omitted.
    package func follows(_ keys: Set<FollowKey>) async throws(PostgresError) -> [FollowKey: StoredFollow] {
        guard !keys.isEmpty else { return [:] }
        let order = Array(keys)
        let who = UserKey.parameters(order.map(\.recipient))
        let rows = try await pool.run(Self.lookUp, who + [.textArray(order.map(\.topic.text))])
        var found: [FollowKey: StoredFollow] = [:]
        for row in rows.indices {
            guard let place = try rows.place(row, 0, in: order.indices) else { continue }
            found[order[place]] = try StoredFollow(rows, row, from: 1)
        }
        return found
    }

    private static let lookUp = Statement(
        """
        SELECT r.position, \(StoredFollow.columns(of: "f"))
        FROM (
            SELECT generate_subscripts($1::text[], 1)::bigint AS position, unnest($1::text[]) AS app,
                   unnest($2::text[]) AS user_id, unnest($3::text[]) AS topic
        ) AS r
        CROSS JOIN LATERAL (
            SELECT * FROM follows WHERE user_id = r.user_id AND app = r.app AND topic = r.topic OFFSET 0
        ) AS f
        WHERE f.removed_at IS NULL
        """,
        effect: .reads
    )
}
