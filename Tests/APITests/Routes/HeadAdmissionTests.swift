import API
import BellhopRules
import HTTPServer
import IntegrationSupport
import Push
import ServiceRuntime
import Settings
import Store
import TestSupport
import Testing

@testable import Tracing

@Suite(
    "Admission by the head of a request",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct HeadAdmissionTests {
    /// Returns the answers of a server with the API's limits to the given bytes.
    ///
    /// Each request has its own connection, which the server closes.
    private static func answers(_ api: InboxAPI, _ requests: [String]) async throws -> [String] {
        let server = try HTTPServer.start(
            listen: try #require(ListenAddress("127.0.0.1:0")),
            limits: InboxAPI.limits,
            admission: api.admit,
            handler: api.respond(to:)
        )
        let port = server.address.port
        let answers = await onOwnThread {
            requests.map { request in
                guard let client = RawClient(port: port) else { return "no connection" }
                client.send(request)
                return client.readAll()
            }
        }
        await server.stop()
        return answers
    }

    private static func status(_ answer: String) -> String {
        answer.split(separator: " ").dropFirst().first.map(String.init) ?? answer
    }

    private static func head(_ line: String, _ fields: String...) -> String {
        ([line + " HTTP/1.1", "Host: h"] + fields).joined(separator: "\r\n") + "\r\n\r\n"
    }

    @Test("a body is read only for a valid token and a route that takes one, otherwise the head is answered")
    func heads() async throws {
        try await APIFixture.with { api in
            let token = try "Authorization: Bearer \(api.token("ada"))"
            let large = "Content-Length: 60000"
            let answers = try await Self.answers(
                api.api,
                [
                    Self.head("PATCH /api/settings", large), Self.head("PUT /api/preferences", large, token + "x"),
                    Self.head("POST /api/settings", large), Self.head("POST /nowhere", large),
                    Self.head("GET /api/settings", large, token), Self.head("GET /", large),
                    Self.head("POST /u/forged", "Content-Length: 26"),
                    Self.head("PATCH /api/settings", "Content-Length: 65537", token),
                    Self.head("PATCH /api/settings", "Content-Length : 2", token) + "{}",
                    Self.head(
                        "PATCH /api/settings",
                        "Content-Length: 2",
                        "Content-Type: application/json",
                        "Connection: close",
                        token
                    ) + "{}",
                ]
            )
            let statuses = answers.map(Self.status)
            #expect(statuses == ["401", "401", "405", "404", "413", "413", "404", "413", "400", "200"])
            for answer in answers.prefix(4) {
                #expect(answer.contains("nosniff") && answer.lowercased().contains("connection: close"))
            }
            let counted = #"bellhop_api_requests_total{route="/api/settings",method="PATCH",status="401"} 1"#
            #expect(api.metrics.text().contains(counted))
        }
    }

    @Test("a call with a body counts once towards its address's limit, at its head")
    func once() async throws {
        try await APIFixture.with(rates: CallRates(user: nil, address: 3), time: ManualSteadyTime()) { api in
            let token = try "Authorization: Bearer \(api.token("ada"))"
            let fields = ["Content-Length: 2", "Content-Type: application/json", "Connection: close", token]
            let call = (["PATCH /api/settings HTTP/1.1", "Host: h"] + fields).joined(separator: "\r\n") + "\r\n\r\n{}"
            let answers = try await Self.answers(api.api, Array(repeating: call, count: 4))
            let statuses = answers.map(Self.status)
            #expect(statuses == ["200", "200", "200", "429"])
        }
    }

    @Test("a call's traceparent is a link without a valid token, and the parent for a signed-in user")
    func traces() async throws {
        let settings = try #require(try TracingSettings.read(["OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"]))
        let tracer = Tracer(settings, registry: MetricsRegistry())
        try await APIFixture.with(tracer: tracer) { api in
            let said: HTTPHeaders = ["traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"]
            _ = try await api.call("GET", "/api/settings", as: nil, headers: said)
            _ = try await api.call("GET", "/api/settings", headers: said)
            let spans = tracer.queue.take(2)
            #expect(spans.map { $0.parent == nil } == [true, false])
            #expect(spans.map(\.links.count) == [1, 0])
        }
    }

    @Test("calls with an unsubscribe link are limited per user, apart from the user's own calls, and write once")
    func links() async throws {
        let time = ManualSteadyTime()
        try await APIFixture.with(time: time) { api in
            _ = try await api.call("PATCH", "/api/settings", #"{"locale":"nb"}"#)
            let (ada, bob) = (try Self.link(of: "ada"), try Self.link(of: "bob"))
            #expect(try await api.call("POST", ada, as: nil).status == 200)
            let version = "SELECT xmin::text::bigint FROM recipients WHERE user_id = 'ada'"
            let written = try await api.servers.count(version)
            var statuses: [Int] = []
            for _ in 0..<5 { statuses.append(try await api.call("POST", ada, as: nil).status) }
            #expect(statuses == [200, 200, 200, 200, 429])
            #expect(try await api.servers.count(version) == written)
            #expect(try await api.call("GET", ada, as: nil).status == 429)
            #expect(try await api.call("GET", bob, as: nil).status == 200)
            #expect(try await api.call("GET", "/api/settings").status == 200)
            time.advance(by: .seconds(1))
            #expect(try await api.call("GET", ada, as: nil).status == 200)
        }
    }

    private static func link(of user: String) throws -> String {
        let app = try #require(AppID(validating: "drop"))
        let user = try #require(UserID(validating: user))
        return "/u/\(try APIFixture.unsubscribeLink().token(for: .init(app: app, user: user)))"
    }
}
