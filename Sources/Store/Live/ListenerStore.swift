import BellhopRules
import Cryptography
package import Postgres
import ServiceRuntime
package import Settings

/// The processes with open streams, and the channel that notifies them of inbox changes.
///
/// A process with open streams keeps a row with a lease. If there is no row, no change is announced.
package struct ListenerStore: Sendable {
    private let pool: PostgresPool
    /// The channel on which changes are announced.
    package let channel: String

    package init(pool: PostgresPool, namespace: Namespace) {
        self.pool = pool
        channel = Self.channel(of: namespace)
    }

    /// Returns the channel of an installation, since a database may contain several.
    package static func channel(of namespace: Namespace) -> String { "\(namespace).live" }

    /// Returns whether any process listens.
    package func isHeard() async throws(PostgresError) -> Bool {
        try await pool.run(Self.heard, []).boolean(0, 0)
    }

    /// Registers a process as a listener until `lease` ends; a repeat extends the lease.
    package func listen(as process: Int64, for lease: Duration) async throws(PostgresError) {
        _ = try await pool.run(Self.listen, [.integer(process), .integer(lease.milliseconds)])
    }

    /// Removes a listener, and the rows of dead processes.
    package func leave(_ process: Int64) async throws(PostgresError) {
        _ = try await pool.run(Self.leave, [.integer(process)])
    }

    /// Announces that these inboxes have changed, in a separate transaction.
    ///
    /// The commit does not wait for the disk: if a crash loses an announcement, the next poll finds the change.
    package func announce(_ signs: some Collection<UserHash> & Sendable) async throws(PostgresError) {
        guard !signs.isEmpty else { return }
        try await announce(UserHash.payloads(signs))
    }

    /// Announces that any inbox may have changed.
    package func announceEverybody() async throws(PostgresError) {
        try await announce([UserHash.everybody])
    }

    private func announce(_ payloads: [String]) async throws(PostgresError) {
        _ = try await pool.run(Self.announce, [.text(channel), .textArray(payloads)])
    }

    private static let heard = Statement(
        "SELECT EXISTS (SELECT FROM listeners WHERE until > now())",
        effect: .reads
    )

    private static let listen = Statement(
        """
        INSERT INTO listeners (process, until) VALUES ($1, now() + $2::bigint * interval '1 ms')
        ON CONFLICT (process) DO UPDATE SET until = excluded.until
        """
    )

    private static let leave = Statement("DELETE FROM listeners WHERE process = $1 OR until < now() - interval '1 min'")

    private static let announce = Statement(
        """
        SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, payload)
        FROM (SELECT unnest($2::text[]) AS payload) AS payloads
        """
    )
}

/// A user's code in inbox change notifications: six bytes of a hash.
///
/// It identifies only users who are already known, about a thousand fit into one PostgreSQL notification, and it exists
/// even for a user without a number. Two users with the same code are checked together, which is harmless.
package struct UserHash: Hashable, Sendable {
    let bits: UInt64

    package init(_ recipient: UserKey) {
        let bytes = IdentityHash.recipient(recipient.app, recipient.user).bytes.prefix(Self.bytes)
        bits = bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }

    private init(bits: UInt64) {
        self.bits = bits
    }

    private static let bytes = 6
    /// The number of characters per code in a payload.
    private static let width = 8
    /// The maximum number of codes per payload, which PostgreSQL limits to 7,999 bytes.
    static let mostInPayload = 999

    private var text: String {
        Base64URL.encode((0..<Self.bytes).reversed().map { UInt8(truncatingIfNeeded: bits >> (8 * UInt64($0))) })
    }

    /// Returns the codes in as few payloads as possible.
    static func payloads(_ signs: some Collection<UserHash>) -> [String] {
        var payloads: [String] = []
        var rest = signs[...]
        while !rest.isEmpty {
            payloads.append(rest.prefix(mostInPayload).map(\.text).joined())
            rest = rest.dropFirst(mostInPayload)
        }
        return payloads
    }

    /// A payload for all users, sent if the affected users are no longer known.
    package static let everybody = "*"

    /// Reads the codes of a payload; `nil` if no Bellhop process can have sent it.
    package static func read(_ payload: String) -> [UserHash]? {
        let bytes = Array(payload.utf8)
        guard !bytes.isEmpty, bytes.count % width == 0 else { return nil }
        var signs: [UserHash] = []
        for start in stride(from: 0, to: bytes.count, by: width) {
            let word = String(decoding: bytes[start..<start + width], as: UTF8.self)
            guard let read = Base64URL.decode(word), read.count == Self.bytes else { return nil }
            signs.append(UserHash(bits: read.reduce(0) { $0 << 8 | UInt64($1) }))
        }
        return signs
    }
}
