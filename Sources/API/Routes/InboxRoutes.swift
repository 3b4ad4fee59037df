import BellhopJSON
import BellhopRules
import HTTPServer
import Store

/// The list of notifications, and the number of unread ones.
enum InboxRoutes {
    /// Answers `GET /api/notifications`.
    static func list(_ call: APIRequest) async throws -> HTTPResponse {
        let query = try inboxQuery(call)
        let page = try await call.users.page(
            query,
            of: call.reader,
            uncounted: call.catalog.uncountedTypes,
            readsLanguage: call.catalog.hasActions
        )
        return HTTPResponse.json(page.json(call.catalog, cursor: cursor(query, page))).tagged(for: call.request)
    }

    /// Returns the cursor at which a stream continues after this page.
    ///
    /// Only the first page of the unfiltered list has one.
    private static func cursor(_ query: InboxQuery, _ page: InboxPage) -> InboxCursor? {
        guard query == InboxQuery(limit: query.limit) else { return nil }
        return InboxCursor(page.items, isWhole: page.next == nil, unread: page.unread, settings: page.settings)
    }

    /// Answers `GET /api/notifications/unread-count`.
    static func unreadCount(_ call: APIRequest) async throws -> HTTPResponse {
        _ = try call.query()
        let count = try await call.users.unreadCount(of: call.reader, uncounted: call.catalog.uncountedTypes)
        return .object(["unreadCount": .number(count)])
    }

    private static func inboxQuery(_ call: APIRequest) throws(APIError) -> InboxQuery {
        let values = try call.query(["limit", "before", "unread", "types", "tag", "state"])
        var query = InboxQuery()
        if let text = values["limit"] {
            guard let limit = Int(text), (1...100).contains(limit) else {
                throw .field("limit", "expected a whole number from 1 to 100")
            }
            query.limit = limit
        }
        if let text = values["before"] {
            guard let place = InboxPosition(text) else {
                throw APIError(400, "bad-cursor", "expected the `next` cursor of a previous page", field: "before")
            }
            query.before = place
        }
        if let text = values["unread"] {
            guard ["true", "false"].contains(text) else { throw .field("unread", "expected true or false") }
            query.unreadOnly = text == "true"
        }
        if let text = values["types"] {
            query.types = try types(text)
        }
        if let text = values["tag"] {
            guard let tagged = TypeTag(validating: text).flatMap(call.catalog.types) else {
                throw .field("tag", "unknown tag")
            }
            query.types = query.types.map { $0.filter(tagged.contains) } ?? tagged
        }
        if let text = values["state"] {
            guard let state = InboxQuery.State(rawValue: text) else {
                throw .field("state", "expected \(JSONScope.oneOf(InboxQuery.State.self))")
            }
            query.state = state
        }
        return query
    }

    private static func types(_ text: String) throws(APIError) -> [EventType] {
        let names = text.split(separator: ",", omittingEmptySubsequences: false)
        let types = names.compactMap { EventType(validating: String($0)) }
        guard types.count == names.count, types.count <= 50 else {
            throw .field("types", "expected up to 50 types with commas between them")
        }
        return types
    }
}

/// Answers `GET /api/notifications/stream` with server-sent events until the token expires, and for at most an hour.
enum StreamRoute {
    static func open(_ call: APIRequest) async throws -> HTTPResponse {
        _ = try call.query()
        var cursor: InboxCursor?
        if let text = call.request.headers["Last-Event-ID"], !text.isEmpty {
            guard let read = InboxCursor(text) else {
                throw APIError(400, "bad-cursor", "expected the id of an event before", field: "Last-Event-ID")
            }
            cursor = read
        }
        try await call.users.admit(call.reader)
        return try call.tools.live.open(call.reader, since: cursor, StreamLifetime(until: end(call), keys: call.keys))
    }

    /// Returns the stream's end.
    ///
    /// Admission allows for clock differences, but an open stream ends when its token expires. If the token had expired
    /// before the call, within the allowed difference, the stream ends with that difference.
    private static func end(_ call: APIRequest) -> Timestamp {
        call.signedIn.expiresAt > call.now ? call.signedIn.expiresAt : call.signedIn.until
    }
}
