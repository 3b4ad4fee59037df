import API
import BellhopJSON
import BellhopRules
import HTTPServer
import IntegrationSupport
import Pipeline
import Push
import ServiceRuntime
import Settings
import Store
import TestSupport
import Testing
import Tracing

/// The API on a dedicated schema, with the rights of `bellhop_api`, called without a socket.
///
/// Every answer is checked against `docs/openapi.yaml`.
struct APIFixture: Sendable {
    typealias Answer = InboxCaller.Answer

    let servers: ServerFixture
    private let caller: InboxCaller

    static func with<Value>(
        rates: CallRates = CallRates(user: nil, address: nil),
        origins: [String] = [],
        limits: LiveLimits = LiveLimits(),
        time: any TimeSource = SystemTime(),
        tracer: Tracer? = nil,
        catalogs: CatalogSet? = nil,
        endpointHosts: [AppID: PushServiceHosts] = [:],
        providers: [AppID: Set<PushProvider>] = [:],
        publishing: PublishingAccess? = nil,
        _ body: (APIFixture) async throws -> Value
    ) async throws -> Value {
        var setting = InboxCaller.Setting()
        setting.rates = rates
        setting.origins = origins
        setting.secrets = try secrets()
        setting.secrets.endpointHosts = endpointHosts
        setting.secrets.providers = providers
        setting.limits = limits
        setting.time = time
        setting.tracer = tracer
        setting.publishing = publishing
        return try await ServerFixture.withSchema(catalogs: try catalogs ?? ServerFixture.shipped()) {
            [setting] servers in
            try await InboxCaller.with(servers, setting) { try await body(APIFixture(servers: servers, caller: $0)) }
        }
    }

    var api: InboxAPI { caller.api }
    var issuer: TokenIssuer { caller.issuer }
    var metrics: MetricsRegistry { caller.metrics }
    var users: UserStore { caller.users }
    /// The open streams, and the service that notifies them.
    var live: (hub: LiveHub, herald: InboxChangeNotifier) { caller.live }

    /// Reads the key set again and makes it active.
    func renewKeys() throws {
        try caller.renewKeys()
    }

    /// Closes the database pool, as if the database were unavailable.
    func closePool() async {
        await caller.closePool()
    }

    func recipient(_ user: String, app: String = "drop") throws -> UserKey {
        UserKey(
            app: try #require(AppID(validating: app)),
            user: try #require(UserID(validating: user))
        )
    }

    /// Makes a token for a user.
    ///
    /// `seconds` is the number of seconds by which the issuer's clock is ahead.
    func token(
        _ user: String,
        app: String = "drop",
        holds span: Duration = .seconds(600),
        issuedIn seconds: Int64 = 0
    ) throws -> String {
        try caller.token(user, app: app, holds: span, issuedIn: seconds)
    }

    static func secrets() throws -> APIContext.AppSecrets {
        let drop = try #require(AppID(validating: "drop"))
        return APIContext.AppSecrets(webPushKeys: [drop: "BPublic"], unsubscribe: [drop: try unsubscribeLink()])
    }

    static func unsubscribeLink() throws -> UnsubscribeLink {
        let keys = try #require(UnsubscribeKeys(file: Array(String(repeating: "k", count: 40).utf8)))
        return UnsubscribeLink(base: "https://api.example.com/u", keys: keys)
    }

    /// Calls as a user, and checks the answer against the OpenAPI document.
    func call(
        _ method: String,
        _ path: String,
        _ body: String? = nil,
        as user: String? = "ada",
        app: String = "drop",
        headers: HTTPHeaders = [:]
    ) async throws -> Answer {
        let target = try #require(RequestTarget(path))
        let answer = try await caller.call(method, target, body, as: user.map { ($0, app) }, headers: headers)
        for fault in documentFaults(method, target, answer) { Issue.record("\(fault)") }
        return answer
    }

    private func documentFaults(_ method: String, _ target: RequestTarget, _ answer: Answer) -> [String] {
        let route = InboxAPI.routes.map(\.path).first { path in
            let segments = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
            return segments.count == target.segments.count
                && zip(segments, target.segments).allSatisfy { $0.hasPrefix("{") || $0 == $1 }
        }
        guard let route, answer.status != 405, method != "OPTIONS" else { return [] }
        return OpenAPIDocument.shipped.faults(of: answer.status, answer.json, to: method, route)
    }

    // MARK: - Material

    /// Writes a notification and returns its id.
    ///
    /// A higher number means a later notification.
    @discardableResult
    func notify(
        _ number: Int,
        for user: String = "ada",
        app: String = "drop",
        type: String = "transaction_complete",
        priority: String = "normal",
        isNew: Bool = false
    ) async throws -> String {
        let id = Self.id(number)
        _ = try await servers.owner.run(
            """
            INSERT INTO notifications (app, user_id, id, event_id, content_hash, type, title, body, priority, data, link,
                                       created_at)
            VALUES ($1, $2, $3, $3, '', $4, 'Tittel ' || $5::bigint::text, 'Tekst', $6, '{"amount":"1 kr"}',
                    '{"web":"/transactions/1","mobile":"/tx/1"}', CASE WHEN $7::boolean THEN clock_timestamp() ELSE now() - interval '1 day' + $5::bigint * interval '1 s' END)
            """,
            [
                .text(app), .text(user), .text(id), .text(type), .integer(Int64(number)), .text(priority),
                .boolean(isNew),
            ]
        )
        return id
    }

    /// Writes a notification that is created at the current time.
    func arrive(
        _ number: Int,
        for user: String = "ada",
        app: String = "drop",
        type: String = "transaction_complete"
    ) async throws -> String {
        try await notify(number, for: user, app: app, type: type, isNew: true)
    }

    static func id(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return "noti_" + String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// The notification ids of a list, in the list's order.
    func ids(_ path: String, as user: String = "ada", app: String = "drop") async throws -> [String] {
        let answer = try await call("GET", path, as: user, app: app)
        return (answer["data"]?.array ?? []).compactMap { $0["id"]?.string }
    }

    func unread(_ user: String = "ada", app: String = "drop") async throws -> Int64? {
        try await call("GET", "/api/notifications/unread-count", as: user, app: app)["unreadCount"]?.number?.int64
    }
}
