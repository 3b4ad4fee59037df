package import API
package import BellhopRules
import Compression
import Cryptography
import Foundation
package import HTTPServer
import Pipeline
import Postgres
package import ServiceRuntime
package import Settings
package import Store
import Synchronization
import TestSupport
package import Tracing

/// The inbox API on a fixture's schema, with the rights of `bellhop_api`, called without a socket.
package struct InboxCaller: Sendable {
    package let api: InboxAPI
    package let issuer: TokenIssuer
    package let metrics: MetricsRegistry
    package let users: UserStore
    /// The open streams, and the notifier of inbox changes.
    package let live: (hub: LiveHub, herald: InboxChangeNotifier)
    private let keys: KeyRing
    private let pool: PostgresPool

    /// The active key set.
    private final class KeyRing: Sendable {
        private let held: Mutex<TrustedIssuers>

        init(_ set: TrustedIssuers) {
            held = Mutex(set)
        }

        var current: TrustedIssuers {
            get { held.withLock { $0 } }
            set { held.withLock { $0 = newValue } }
        }
    }

    /// The response of the API.
    package struct Answer: Sendable {
        package let status: Int
        package let headers: HTTPHeaders
        package let text: String
        /// The body; `nil` if it is not JSON.
        package let json: JSONValue?

        package subscript(key: String) -> JSONValue? { json?[key] }

        package var code: String? { json?["error"]?["code"]?.string }
        package var field: String? { json?["error"]?["field"]?.string }
    }

    /// The API's settings other than the catalogues.
    package struct Setting: Sendable {
        package var rates = CallRates(user: nil, address: nil)
        package var origins: [String] = []
        package var secrets = APIContext.AppSecrets()
        package var limits = LiveLimits()
        /// The clock of calls and streams; tokens use the machine's clock.
        package var time: any TimeSource = SystemTime()
        package var tracer: Tracer?
        package var publishing: PublishingAccess?

        package init() {}
    }

    package static func with<Value>(
        _ servers: ServerFixture,
        _ setting: Setting = Setting(),
        _ body: (InboxCaller) async throws -> Value
    ) async throws -> Value {
        let pool = try ServerFixture.makePool(setUp: servers.namespace.setUp(as: .api))
        let result: Result<Value, any Error>
        do {
            result = .success(try await body(try InboxCaller(servers, pool, setting)))
        } catch {
            result = .failure(error)
        }
        await pool.close()
        return try result.get()
    }

    private init(_ servers: ServerFixture, _ pool: PostgresPool, _ setting: Setting) throws {
        self.pool = pool
        issuer = try TokenIssuer(key: .generateP256())
        metrics = MetricsRegistry()
        users = UserStore(pool: pool)
        let keys = KeyRing(try Self.trusting(issuer))
        self.keys = keys
        let catalogs = CatalogSource(servers.catalogs)
        let logger = Logger(label: "test", level: .error, sink: StandardErrorSink(form: .text))
        let book = ListenerStore(pool: pool, namespace: servers.namespace)
        let herald = InboxChangeNotifier(book: book, logger: logger, metrics: metrics)
        let here = LiveHub.Context(
            users: users,
            book: book,
            catalogs: catalogs,
            issuers: { keys.current },
            herald: herald,
            time: setting.time,
            logger: logger
        )
        let listener = ListenerOptions(url: try ServerFixture.databaseURL, channels: [])
        live = (LiveHub(here, listener: listener, limits: setting.limits, metrics: metrics), herald)
        var tools = APIContext(
            users: users,
            catalogs: catalogs,
            zones: ZoneLibrary(environment: ProcessInfo.processInfo.environment),
            time: setting.time,
            secrets: setting.secrets,
            live: live.hub,
            metrics: metrics
        )
        tools.tracer = setting.tracer
        tools.publishing = setting.publishing
        let admission = InboxAPI.AccessPolicy(
            issuers: { keys.current },
            origins: setting.origins.compactMap(WebOrigin.init),
            rates: setting.rates
        )
        api = InboxAPI(tools: tools, admission: admission, logger: logger, metrics: metrics)
    }

    /// Activates a newly read key set with the same keys.
    package func renewKeys() throws {
        keys.current = try Self.trusting(issuer)
    }

    private static func trusting(_ issuer: TokenIssuer) throws -> TrustedIssuers {
        let keys = try TokenKeySet.read(issuer.keySet, file: "test").get()
        return TrustedIssuers([.init(TokenRules(audiences: ["bellhop"]), keys: keys)])
    }

    /// Closes the pool, which simulates an unavailable database.
    package func closePool() async {
        await pool.close()
    }

    /// Returns a token; `issuedIn` is the number of seconds by which its issuer's clock is ahead.
    package func token(
        _ user: String,
        app: String,
        holds span: Duration = .seconds(600),
        issuedIn seconds: Int64 = 0
    ) throws -> String {
        let now = Timestamp(clamping: SystemTime().now().microseconds + seconds * 1_000_000)
        let end = Timestamp(clamping: now.microseconds + span.microseconds)
        guard let app = AppID(validating: app), let user = UserID(validating: user) else {
            throw ServerFixtureError("\(app) and \(user) make no token")
        }
        return try issuer.token(
            app: app,
            user: user,
            TokenIssuer.Terms(audience: "bellhop", issuedAt: now, expiresAt: end)
        )
    }

    /// Calls as a user, or without a user.
    package func call(
        _ method: String,
        _ target: RequestTarget,
        _ body: String?,
        as user: (name: String, app: String)?,
        headers: HTTPHeaders = [:]
    ) async throws -> Answer {
        var fields = headers
        if let user { fields.add("Authorization", "Bearer \(try token(user.name, app: user.app))") }
        if body != nil, fields["Content-Type"] == nil { fields.add("Content-Type", "application/json") }
        let request = HTTPRequest(
            method: method,
            target: target,
            headers: fields,
            body: Array((body ?? "").utf8),
            peer: PeerAddress(ipv4: 0x7F00_0001)
        )
        return try read(await api.respond(to: request))
    }

    private func read(_ response: HTTPResponse) throws -> Answer {
        var bytes: [UInt8] = []
        // A stream is dropped unread, and ends.
        if case .bytes(let whole) = response.body { bytes = whole }
        if response.headers["Content-Encoding"] == "gzip" {
            guard let expanded = Gzip.expanded(bytes, atMost: 1 << 20) else {
                throw ServerFixtureError("no gzip after all")
            }
            bytes = expanded
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
}
