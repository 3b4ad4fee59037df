import BellhopRules
import Postgres

/// The locks that a feed transaction takes before it writes anything, in an order that all of them share.
///
/// A user's updates are applied oldest first, in several rounds, so rows are written in no fixed order. Two
/// transactions that share users or tokens are therefore serialised: a waiting transaction holds no lock that the other
/// needs. Rows that other statements also write in bulk are locked by their keys before the first round.
struct FeedLocks: Sendable {
    /// The names of the users and tokens in the updates, including those without rows.
    private let names: [String]
    private let people: [Parameter]
    private let tokens: [Parameter]?
    private let hasReminders: Bool

    init(_ entries: [FeedEntry]) {
        var people: Set<Subject> = []
        var tokens: Set<Subject> = []
        var (hasDevices, hasReminders) = (false, false)
        for entry in entries {
            let change = entry.update.change
            people.insert(Subject(app: entry.update.app, name: change.user.text))
            switch change {
            case .subscriptionUpserted(let update):
                hasDevices = true
                for token in [update.token, update.replaces].compactMap({ $0 }) {
                    tokens.insert(Subject(app: entry.update.app, name: token.text))
                }
            case .subscriptionRevoked: hasDevices = true
            case .recipientUpserted(let update): hasReminders = hasReminders || update.timezone.isGiven
            case .recipientDeleted: (hasDevices, hasReminders) = (true, true)
            case .reminderSet, .reminderRemoved: hasReminders = true
            case .followAdded, .followRemoved, .notificationRead: break
            }
        }
        names = people.map { Self.name(ofUser: $0.name, $0.app) } + tokens.map { "token \($0.app.text) \($0.name)" }
        self.people = Self.columns(people)
        self.tokens = hasDevices ? Self.columns(tokens) : nil
        self.hasReminders = hasReminders
    }

    /// Creates the locks for users whose erasure is repeated.
    init(erasing people: [UserKey]) {
        names = people.map { Self.name(ofUser: $0.user.text, $0.app) }
        self.people = UserKey.parameters(people)
        tokens = [.textArray([]), .textArray([])]
        hasReminders = true
    }

    private static func name(ofUser user: String, _ app: AppID) -> String { "user \(app.text) \(user)" }

    /// Takes the locks.
    ///
    /// The rows of `people` come after those of devices: a statement that writes a device locks its row first, and the
    /// trigger locks the other.
    func take(on connection: PostgresConnection) throws(PostgresError) {
        _ = try connection.run(Self.subjects, [.textArray(names)])
        if let tokens { _ = try connection.run(Self.devices, people + tokens) }
        _ = try connection.run(Self.numbers, people)
        if hasReminders { _ = try connection.run(Self.reminders, people) }
    }

    /// A user or a token of an app.
    private struct Subject: Hashable {
        let app: AppID
        let name: String
    }

    private static func columns(_ subjects: Set<Subject>) -> [Parameter] {
        let subjects = Array(subjects)
        return [.textArray(subjects.map(\.app.text)), .textArray(subjects.map(\.name))]
    }

    /// Uses a separate hash: the release locks users by another one and must not skip users who are being updated.
    private static let subjects = Statement(
        """
        SELECT count(pg_advisory_xact_lock(key))
        FROM (SELECT DISTINCT hashtextextended(name, 1) AS key FROM unnest($1::text[]) AS name ORDER BY key) AS keys
        """
    )

    private static let devices = Statement(
        """
        SELECT count(*) FROM (
            SELECT FROM (
                SELECT o.app, o.profile_id, o.id
                FROM unnest($1::text[], $2::text[]) AS r (app, user_id)
                CROSS JOIN LATERAL (
                    SELECT s.app, s.profile_id, s.id FROM push_subscriptions s
                    WHERE s.app = r.app AND s.profile_id = r.user_id OFFSET 0
                ) AS o
                UNION
                SELECT o.app, o.profile_id, o.id
                FROM unnest($3::text[], $4::text[]) AS r (app, token)
                CROSS JOIN LATERAL (
                    SELECT s.app, s.profile_id, s.id FROM push_subscriptions s
                    WHERE s.app || '' = r.app AND md5(s.device_token) = md5(r.token) AND s.device_token = r.token OFFSET 0
                ) AS o
            ) AS k
            JOIN push_subscriptions s ON s.app = k.app AND s.profile_id = ANY (ARRAY[k.profile_id]) AND s.id = k.id
            ORDER BY k.profile_id, k.app, k.id
            FOR UPDATE OF s
        ) AS locked
        """
    )

    private static let numbers = UserNumbers.hold("FOR NO KEY UPDATE")

    private static let reminders = Statement(
        """
        SELECT count(*) FROM (
            SELECT FROM unnest($1::text[], $2::text[]) AS r (app, user_id)
            JOIN reminders t ON t.app = r.app AND t.user_id = ANY (ARRAY[r.user_id])
            ORDER BY r.user_id COLLATE "C", r.app COLLATE "C", t.id || ''
            FOR UPDATE OF t
        ) AS locked
        """
    )
}
