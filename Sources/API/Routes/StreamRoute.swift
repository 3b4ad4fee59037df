import BellhopRules
import HTTPServer
import Store

/// Answers `GET /api/notifications/stream` with server-sent events until the token expires, and for at most an hour.
enum StreamRoute {
    static func open(_ call: Call) async throws -> HTTPResponse {
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
    private static func end(_ call: Call) -> Timestamp {
        let end = Timestamp(clamping: call.until.microseconds - Int64(TokenVerifier.leeway) * 1_000_000)
        return end > call.now ? end : call.until
    }
}
