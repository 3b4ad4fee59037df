package import API
package import BellhopRules
import Cryptography
import Foundation
package import HTTPServer
import Pipeline
import Postgres
package import ServiceRuntime
package import Store
import TestSupport

/// The inbox API on a bench's schema, with the rights of `bellhop_api`, called without a socket in between.
package struct InboxCaller: Sendable {
    package let api: InboxAPI
    package let issuer: TokenIssuer
    package let metrics: MetricsRegistry
    package let desk: ReaderDesk
    private let pool: PostgresPool

    /// What came back.
    package struct Answer: Sendable {
        package let status: Int
        package let headers: HTTPHeaders
        package let text: String
        /// Nil where the body is none.
        package let json: JSONValue?

        package subscript(key: String) -> JSONValue? { json?[key] }

        package var code: String? { json?["error"]?["code"]?.string }
        package var field: String? { json?["error"]?["field"]?.string }
    }

    /// Who may call it, and what it knows beside the catalogues.
    package struct Setting: Sendable {
        package var rates = CallRates(user: nil, address: nil)
        package var origins: [String] = []
        package var secrets = Tools.AppSecrets()

        package init() {}
    }

    package static func with<Value>(
        _ bench: Bench,
        _ setting: Setting = Setting(),
        _ body: (InboxCaller) async throws -> Value
    ) async throws -> Value {
        let pool = try Bench.makePool(setUp: bench.namespace.setUp(as: .api))
        let result: Result<Value, any Error>
        do {
            result = .success(try await body(try InboxCaller(bench, pool, setting)))
        } catch {
            result = .failure(error)
        }
        await pool.close()
        return try result.get()
    }

    private init(_ bench: Bench, _ pool: PostgresPool, _ setting: Setting) throws {
        self.pool = pool
        issuer = try TokenIssuer(key: .generateP256())
        metrics = MetricsRegistry()
        desk = ReaderDesk(pool: pool)
        let keys = try TokenKeySet.read(issuer.keySet, file: "test").get()
        let tools = Tools(
            desk: desk,
            catalogs: CatalogSource(bench.catalogs),
            zones: ZoneLibrary(environment: ProcessInfo.processInfo.environment),
            time: SystemTime(),
            secrets: setting.secrets,
            metrics: metrics
        )
        let admission = InboxAPI.Admission(
            verifier: TokenVerifier(audience: "bellhop"),
            keys: { keys },
            origins: setting.origins.compactMap(WebOrigin.init),
            rates: setting.rates
        )
        let logger = Logger(label: "test", level: .error, sink: StandardErrorSink(form: .text))
        api = InboxAPI(tools: tools, admission: admission, logger: logger, metrics: metrics)
    }

    /// As when the database is away.
    package func closePool() async {
        await pool.close()
    }

    package func token(_ user: String, app: String) throws -> String {
        let now = Timestamp(clamping: SystemTime().now().microseconds)
        let end = Timestamp(clamping: now.microseconds + 600_000_000)
        guard let app = AppID(validating: app), let user = UserID(validating: user) else {
            throw BenchError("\(app) and \(user) make no token")
        }
        return try issuer.token(
            app: app,
            user: user,
            TokenIssuer.Terms(audience: "bellhop", issuedAt: now, expiresAt: end)
        )
    }

    /// Calls as a user, or as nobody.
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
        guard case .bytes(let bytes) = response.body else { throw BenchError("a stream in place of an answer") }
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
