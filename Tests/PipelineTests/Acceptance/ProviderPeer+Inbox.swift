import BellhopRules
import HTTPServer
import IntegrationSupport
import Testing

/// The inbox API of the same system, as the clients of the peer's app call it.
struct AppInbox: Sendable {
    private let caller: InboxCaller
    private let app: String

    fileprivate init(_ caller: InboxCaller, app: String) {
        self.caller = caller
        self.app = app
    }

    /// Calls the API as a user, and requires that status.
    @discardableResult
    func call(
        _ method: String,
        _ path: String,
        _ body: String? = nil,
        as user: String,
        headers: HTTPHeaders = [:],
        expecting status: Int = 200
    ) async throws -> JSONValue {
        let target = try #require(RequestTarget(path))
        let answer = try await caller.call(method, target, body, as: (user, app), headers: headers)
        #expect(answer.status == status, "\(method) \(path): \(answer.text)")
        return answer.json ?? .null
    }

    /// Returns the titles of the user's list.
    func titles(_ user: String) async throws -> [String] {
        let page = try await call("GET", "/api/notifications", as: user)
        return (page["data"]?.array ?? []).compactMap { $0["title"]?.string }
    }

    func unread(_ user: String) async throws -> Int64? {
        try await call("GET", "/api/notifications/unread-count", as: user)["unreadCount"]?.number?.int64
    }

    /// Registers a device, as the user's app does after sign-in.
    func register(_ user: String, _ platform: String, token: String, more: String = "") async throws {
        let body = #"{"token":"\#(token)","platform":"\#(platform)"\#(more)}"#
        try await call("POST", "/api/push-token", body, as: user)
    }
}

extension ProviderPeer {
    /// Runs a body with the inbox API on the same schema.
    func withInbox(_ body: (AppInbox) async throws -> Void) async throws {
        try await InboxCaller.with(pipeline.servers) { try await body(AppInbox($0, app: app)) }
    }

    /// Publishes one event as a producer of the app does.
    func publish(_ type: String, _ body: String) async throws {
        try await pipeline.publish([pipeline.event(body, key: "\(app).\(type)")])
    }
}
