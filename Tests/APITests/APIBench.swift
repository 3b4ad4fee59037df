import API
import BellhopJSON
import BellhopRules
import Compression
import Cryptography
import Foundation
import HTTPServer
import Pipeline
import Postgres
import Push
import ServiceRuntime
import Store
import TestSupport
import Testing
import Workbench

/// The API on a schema of its own, with the rights of `bellhop_api`, called without a socket in between.
///
/// Every answer is held against `docs/openapi.yaml`.
struct APIBench: Sendable {
    let bench: Bench
    let api: InboxAPI
    let issuer: TokenIssuer
    let metrics: MetricsRegistry
    let desk: ReaderDesk
    /// The open streams, and what tells them.
    let live: (hub: LiveHub, herald: Herald)
    private let pool: PostgresPool

    /// What came back.
    struct Answer: Sendable {
        let status: Int
        let headers: HTTPHeaders
        let text: String
        /// Nil where the body is none.
        let json: JSONValue?

        subscript(key: String) -> JSONValue? { json?[key] }

        var code: String? { json?["error"]?["code"]?.string }
        var field: String? { json?["error"]?["field"]?.string }
    }

    static func with<Value>(
        rates: CallRates = CallRates(user: nil, address: nil),
        origins: [String] = [],
        limits: LiveLimits = LiveLimits(),
        _ body: (APIBench) async throws -> Value
    ) async throws -> Value {
        try await Bench.withSchema(catalogs: try Bench.shipped()) { bench in
            let pool = try Bench.makePool(setUp: bench.namespace.setUp(as: .api))
            let result: Result<Value, any Error>
            do {
                result = .success(try await body(try APIBench(bench, pool, rates, origins, limits)))
            } catch {
                result = .failure(error)
            }
            await pool.close()
            return try result.get()
        }
    }

    private init(
        _ bench: Bench,
        _ pool: PostgresPool,
        _ rates: CallRates,
        _ origins: [String],
        _ limits: LiveLimits
    ) throws {
        self.bench = bench
        self.pool = pool
        issuer = try TokenIssuer(key: .generateP256())
        metrics = MetricsRegistry()
        desk = ReaderDesk(pool: pool)
        let keys = try TokenKeySet.read(issuer.keySet, file: "test").get()
        let catalogs = CatalogSource(bench.catalogs)
        let logger = Logger(label: "test", level: .error, sink: StandardErrorSink(form: .text))
        live = try Self.hub(bench, desk, pool, catalogs, metrics, limits)
        let tools = Tools(
            desk: desk,
            catalogs: catalogs,
            zones: ZoneLibrary(environment: ProcessInfo.processInfo.environment),
            time: SystemTime(),
            secrets: try Self.secrets(),
            live: live.hub,
            metrics: metrics
        )
        let admission = InboxAPI.Admission(
            verifier: TokenVerifier(audience: "bellhop"),
            keys: { keys },
            origins: origins.compactMap(WebOrigin.init),
            rates: rates
        )
        api = InboxAPI(tools: tools, admission: admission, logger: logger, metrics: metrics)
    }

    static func secrets() throws -> Tools.AppSecrets {
        let drop = try #require(AppID(validating: "drop"))
        return Tools.AppSecrets(webPushKeys: [drop: "BPublic"], unsubscribe: [drop: try unsubscribeLink()])
    }

    static func unsubscribeLink() throws -> UnsubscribeLink {
        let keys = try #require(UnsubscribeKeys(file: Array(String(repeating: "k", count: 40).utf8)))
        return UnsubscribeLink(base: "https://api.example.com/u", keys: keys)
    }

    private static func hub(
        _ bench: Bench,
        _ desk: ReaderDesk,
        _ pool: PostgresPool,
        _ catalogs: CatalogSource,
        _ metrics: MetricsRegistry,
        _ limits: LiveLimits
    ) throws -> (hub: LiveHub, herald: Herald) {
        let logger = Logger(label: "test", level: .error, sink: StandardErrorSink(form: .text))
        let book = ListenerBook(pool: pool, namespace: bench.namespace)
        let herald = Herald(book: book, logger: logger, metrics: metrics)
        let here = LiveHub.Surroundings(desk: desk, book: book, catalogs: catalogs, herald: herald, logger: logger)
        let url = try DatabaseURL(try #require(Servers.databaseURL))
        let listener = ListenerOptions(url: url, channels: [])
        return (LiveHub(here, listener: listener, limits: limits, metrics: metrics), herald)
    }

    /// As when the database is away.
    func closePool() async {
        await pool.close()
    }

    func recipient(_ user: String, app: String = "drop") throws -> RecipientKey {
        RecipientKey(
            app: try #require(AppID(validating: app)),
            user: try #require(UserID(validating: user))
        )
    }

    func token(_ user: String, app: String = "drop", holds span: Duration = .seconds(600)) throws -> String {
        let now = Timestamp(clamping: SystemTime().now().microseconds)
        let end = Timestamp(clamping: now.microseconds + span.microseconds)
        return try issuer.token(
            app: try #require(AppID(validating: app)),
            user: try #require(UserID(validating: user)),
            TokenIssuer.Terms(audience: "bellhop", issuedAt: now, expiresAt: end)
        )
    }

    /// Calls as a user; `route` is the path as documented, where it is another than the one called.
    func call(
        _ method: String,
        _ path: String,
        _ body: String? = nil,
        as user: String? = "ada",
        app: String = "drop",
        headers: HTTPHeaders = [:]
    ) async throws -> Answer {
        var fields = headers
        if let user { fields.add("Authorization", "Bearer \(try token(user, app: app))") }
        if body != nil, fields["Content-Type"] == nil { fields.add("Content-Type", "application/json") }
        let target = try #require(RequestTarget(path))
        let request = HTTPRequest(
            method: method,
            target: target,
            headers: fields,
            body: Array((body ?? "").utf8),
            peer: PeerAddress(ipv4: 0x7F00_0001)
        )
        let answer = try await read(api.respond(to: request))
        for fault in documentFaults(method, target, answer) { Issue.record("\(fault)") }
        return answer
    }

    private func read(_ response: HTTPResponse) async throws -> Answer {
        var bytes: [UInt8] = []
        switch response.body {
        case .bytes(let whole): bytes = whole
        // Dropped unread, it ends.
        case .stream: break
        }
        if response.headers["Content-Encoding"] == "gzip" {
            bytes = try #require(Gzip.expanded(bytes, atMost: 1 << 20))
        }
        let isJSON = response.headers["Content-Type"] == "application/json"
        let json = isJSON ? try JSONParser().parse(bytes).get() : nil
        return Answer(
            status: response.status,
            headers: response.headers,
            text: String(decoding: bytes, as: UTF8.self),
            json: json
        )
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

    /// Writes a notification, the later the higher its number, and returns its id.
    @discardableResult
    func notify(
        _ number: Int,
        for user: String = "ada",
        app: String = "drop",
        type: String = "transaction_complete",
        priority: String = "normal"
    ) async throws -> String {
        let id = Self.id(number)
        _ = try await bench.owner.run(
            """
            INSERT INTO notifications (app, user_id, id, event_id, content_hash, type, title, body, priority, data, link,
                                       created_at)
            VALUES ($1, $2, $3, $3, '', $4, 'Tittel ' || $5::bigint::text, 'Tekst', $6, '{"amount":"1 kr"}',
                    '{"web":"/transactions/1","mobile":"/tx/1"}', now() - interval '1 day' + $5::bigint * interval '1 s')
            """,
            [.text(app), .text(user), .text(id), .text(type), .integer(Int64(number)), .text(priority)]
        )
        return id
    }

    /// Writes one that has come just now.
    func arrive(_ number: Int, for user: String = "ada", app: String = "drop") async throws -> String {
        let id = try await notify(number, for: user, app: app)
        _ = try await bench.owner.run(
            "UPDATE notifications SET created_at = clock_timestamp() WHERE app = $1 AND user_id = $2 AND id = $3",
            [.text(app), .text(user), .text(id)]
        )
        return id
    }

    static func id(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return "noti_" + String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// The ids of a list.
    func ids(_ path: String, as user: String = "ada", app: String = "drop") async throws -> [String] {
        let answer = try await call("GET", path, as: user, app: app)
        return (answer["data"]?.array ?? []).compactMap { $0["id"]?.string }
    }

    func unread(_ user: String = "ada", app: String = "drop") async throws -> Int64? {
        try await call("GET", "/api/notifications/unread-count", as: user, app: app)["unreadCount"]?.number?.int64
    }
}
