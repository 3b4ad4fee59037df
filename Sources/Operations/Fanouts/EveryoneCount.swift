package import BellhopJSON
import ServiceRuntime
package import Store

/// The number of users to whom an event for everyone would go now, and of users with a device who are left out.
package struct EveryoneCount: Sendable {
    private let app: String
    package let users: AudienceSize
    /// The users with an active device and without a recipient record.
    package let others: AudienceSize

    /// The number of devices that are read to find the others.
    private static let devicesRead = 100_000

    package init(in app: String, on pool: ConnectionPool) async throws {
        self.app = app
        users = try await AudienceSize(of: AudienceName(app: app, topic: nil), on: pool)
        others = try await AudienceSize(outsideOfEveryoneIn: app, on: pool, among: Self.devicesRead)
    }

    /// How a user comes to belong to everyone.
    package static let rule = "everyone is each user of the app with a stored recipient.upserted"

    /// The count with the rule, such as `everyone in drop is 2 users now, each with a stored recipient.upserted`.
    package var text: String {
        let count = "\(users.isCapped ? "more than " : "")\(users.users.of("user"))"
        let belonging = "everyone in \(app) is \(count) now, each with a stored recipient.upserted"
        guard others.users > 0 else { return belonging }
        let least = others.isCapped ? "at least " : ""
        let verb = others.users == 1 ? "has" : "have"
        return "\(belonging); \(least)\(others.users.of("other user")) with a device \(verb) none"
    }

    package var json: JSONValue {
        .members([
            ("app", .string(app)), ("users", .int(users.users)), ("usersIsCapped", .bool(users.isCapped)),
            ("others", .int(others.users)), ("othersIsCapped", .bool(others.isCapped)),
        ])
    }
}
