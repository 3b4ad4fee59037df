import BellhopRules
import Postgres

/// What a transaction of feeds locks before it writes anything, in the order that all of them keep.
///
/// The words about a user are applied oldest first, one round after the other, so the rows that they write come in no
/// order. Two transactions that share users or tokens take turns instead: whoever waits holds nothing that the other
/// wants. The rows that others than feeds write too, and many at once, are locked by their keys before the first round.
struct FeedLocks: Sendable {
    /// Whom and what the words are about, rows that are not there yet among them.
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

    /// For people who are erased once more.
    init(erasing people: [RecipientKey]) {
        names = people.map { Self.name(ofUser: $0.user.text, $0.app) }
        self.people = RecipientKey.parameters(people)
        tokens = [.textArray([]), .textArray([])]
        hasReminders = true
    }

    private static func name(ofUser user: String, _ app: AppID) -> String { "user \(app.text) \(user)" }

    /// The rows of `people` after those of their devices: whoever writes a device locks its row first, and its trigger the
    /// other.
    func take(on connection: PostgresConnection) throws(PostgresError) {
        _ = try connection.run(Self.subjects, [.textArray(names)])
        if let tokens { _ = try connection.run(Self.devices, people + tokens) }
        _ = try connection.run(Self.numbers, people)
        if hasReminders { _ = try connection.run(Self.reminders, people) }
    }

    private struct Subject: Hashable {
        let app: AppID
        let name: String
    }

    private static func columns(_ subjects: Set<Subject>) -> [Parameter] {
        let subjects = Array(subjects)
        return [.textArray(subjects.map(\.app.text)), .textArray(subjects.map(\.name))]
    }

    /// By a hash of their own: the hand-over asks for users by another, and must not miss those who are being fed.
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

    private static let numbers = People.hold("FOR NO KEY UPDATE")

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
