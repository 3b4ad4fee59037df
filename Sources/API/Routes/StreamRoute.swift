import BellhopRules
import HTTPServer
import Store

/// Answers `GET /api/notifications/stream`: server-sent events for as long as the token holds, and an hour at most.
enum StreamRoute {
    static func open(_ call: Call) async throws -> HTTPResponse {
        _ = try call.query()
        var cursor: InboxCursor?
        if let text = call.request.headers["Last-Event-ID"], !text.isEmpty {
            guard let read = InboxCursor(text) else {
                throw CallFault(400, "bad-cursor", "expected the id of an event before", field: "Last-Event-ID")
            }
            cursor = read
        }
        try await call.desk.admit(call.reader)
        return try call.tools.live.open(call.reader, since: cursor, LiveHold(until: end(call), keys: call.keys))
    }

    /// Clocks may differ where a call is let in; an open stream ends with its token all the same, unless it began after.
    private static func end(_ call: Call) -> Timestamp {
        let end = Timestamp(clamping: call.until.microseconds - Int64(TokenVerifier.leeway) * 1_000_000)
        return end > call.now ? end : call.until
    }
}
