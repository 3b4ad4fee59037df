package import BellhopJSON
package import Store

/// A part of the users whom a fan-out has reached, in the order of their ids.
package struct FanoutUserList: Sendable {
    package let record: FanoutRecord
    package let users: [FanoutUser]
    /// The id after which the next part begins; `nil` if there are no more users.
    package let next: String?

    package var json: JSONValue {
        .members([
            ("fanout", .int(record.number)), ("app", .string(record.app)), ("event", .string(record.event)),
            ("type", .string(record.type)), ("users", .array(users.map(\.json))), ("next", .optional(next)),
        ])
    }
}

extension FanoutOperations {
    /// The maximum number of users in one part.
    private static let mostListed = 100

    /// Returns the users after an id, at most ``mostListed``; with `onlySent`, only the users who may have received a
    /// push.
    ///
    /// It looks at ``pagesCounted`` pages of the app's users; if more are left, the next part continues there.
    package func users(of filter: FanoutFilter, after user: String, onlySent: Bool) async throws -> FanoutUserList {
        let record = try await progress(of: filter, for: "list-users").record
        var (found, last): ([FanoutUser], String?) = ([], nil)
        _ = try await forEachPage(of: record, after: user, upTo: Self.pagesCounted) { page in
            found += page.users.filter { !onlySent || $0.mayHaveIt }
            last = page.last
            return found.count <= Self.mostListed
        }
        let listed = Array(found.prefix(Self.mostListed))
        let next = found.count > listed.count ? listed.last?.user : last
        return FanoutUserList(record: record, users: listed, next: next)
    }
}
