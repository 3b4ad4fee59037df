import BellhopJSON
import Foundation
import HTTPServer
import IntegrationSupport
import Operations
import ServiceRuntime
import Settings
import Store
import TestSupport
import Testing

@testable import CLI
@testable import Commands
@testable import Console
@testable import Roles

/// The console on a dedicated schema, called without a socket.
struct ConsoleFixture: Sendable {
    let servers: ServerFixture
    let console: OperatorConsole
    let board: StatusCache
    /// The environment of the console, for commands that are compared with it.
    let environment: [String: String]
    let time: ManualSteadyTime
    let metrics: MetricsRegistry
    /// The file that lists the operators.
    let operators: URL
    let tokens: [OperatorRole: String]

    static func with(
        _ letters: [DeadLetterItem] = [],
        environment: [String: String] = [:],
        origin: WebOrigin? = nil,
        _ body: @Sendable (ConsoleFixture) async throws -> Void
    ) async throws {
        try await ServerFixture.withSchema { servers in
            _ = try await DeadLetterStore(pool: servers.pool).file(letters)
            try await with(servers, environment, origin, body)
        }
    }

    /// Runs a body with a console on existing servers.
    static func with(
        _ servers: ServerFixture,
        _ environment: [String: String] = [:],
        _ origin: WebOrigin? = nil,
        _ body: @Sendable (ConsoleFixture) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(Servers.uniqueName("console"))
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let environment = settings(servers).merging(environment) { _, given in given }
        let configuration = try BellhopConfiguration.read(flags: [:], environment: environment, required: []).get()
        let pool = try CommandContext(configuration: configuration).pool(as: .admin, name: "console", size: 6)
        let zones = ZoneLibrary(environment: environment)
        let context = OperationsContext(configuration: configuration, pool: pool, zones: zones)
        let console = try made(servers, context, environment, folder, origin)
        let result: Result<Void, any Error>
        do { result = .success(try await body(console)) } catch { result = .failure(error) }
        await pool.close()
        try result.get()
    }

    private static func made(
        _ servers: ServerFixture,
        _ context: OperationsContext,
        _ environment: [String: String],
        _ folder: URL,
        _ origin: WebOrigin?
    ) throws -> ConsoleFixture {
        let file = folder.appendingPathComponent("operators.json")
        var (list, tokens) = (OperatorFile([]), [OperatorRole: String]())
        for (name, role) in [("ada", OperatorRole.operator), ("bo", .viewer)] {
            let (person, token) = try Operator.enlisted(as: name, role)
            (list, tokens[role]) = (list.having(person), token)
        }
        try Data(list.text).write(to: file)
        let (time, metrics, logger) = (
            ManualSteadyTime(), MetricsRegistry(), Logger(label: "test", level: .error, sink: CapturedLog())
        )
        let board = StatusCache(context, time: time)
        var surroundings = OperatorConsole.Surroundings(
            context,
            board: board,
            operators: try WatchedDocument<OperatorFile>(file: file.path, time: time, logger: logger),
            time: time,
            log: (logger, metrics)
        )
        surroundings.origin = origin
        surroundings.docsURL = context.configuration.docsURL
        return ConsoleFixture(
            servers: servers,
            console: OperatorConsole(surroundings),
            board: board,
            environment: environment,
            time: time,
            metrics: metrics,
            operators: file,
            tokens: tokens
        )
    }

    /// Runs a command with the console's settings, and returns its exit code and its output.
    func command(_ words: [String]) async -> (exitCode: ExitCode, output: String) {
        let printed = CapturedOutput()
        let shell = CommandEnvironment(environment: environment, output: printed.output)
        let code = await CommandLineTool.bellhop(with: []).run(words, shell)
        return (code, printed.text)
    }

    private static func settings(_ servers: ServerFixture) -> [String: String] {
        [
            "BELLHOP_AMQP_URL": Servers.amqpURL ?? "", "BELLHOP_DATABASE_URL": Servers.databaseURL ?? "",
            "BELLHOP_NAMESPACE": servers.namespace.name, "BELLHOP_CATALOGS": Checkout.file("deploy/catalogs").path,
            "BELLHOP_RETRY_DELAYS": ServerFixture.tiers.map(\.name).joined(separator: ","),
        ]
    }

    // MARK: - Calls

    /// The answer to a call.
    struct Answer: Sendable {
        let status: Int
        let json: JSONValue
        let headers: HTTPHeaders

        subscript(name: String) -> JSONValue? { json[name] }
        var message: String { json["error"]?["message"]?.string ?? "" }
        var code: String { json["error"]?["code"]?.string ?? "" }
    }

    /// A browser that has signed in.
    struct Browser: Sendable {
        let cookie: String
        let proof: String
    }

    func call(
        _ method: String,
        _ path: String,
        _ body: JSONValue? = nil,
        headers: [(String, String)] = [],
        as browser: Browser? = nil
    ) async throws -> Answer {
        var fields = HTTPHeaders()
        if body != nil { fields.add("Content-Type", "application/json") }
        if let browser {
            fields.add("Cookie", browser.cookie)
            fields.add("X-Bellhop-Proof", browser.proof)
        }
        for (name, value) in headers { fields[name] = value.isEmpty ? nil : value }
        let request = HTTPRequest(
            method: method,
            target: try #require(RequestTarget(path)),
            headers: fields,
            body: body.map { JSONWriter.canonicalBytes(of: $0) } ?? []
        )
        let response = await console.respond(to: request)
        guard case .bytes(let bytes) = response.body else { throw BrowserFailure("a stream came back") }
        let json = try? JSONParser(limits: .init(bytes: 32 << 20, depth: 64)).parse(bytes).get()
        return Answer(status: response.status, json: json ?? .null, headers: response.headers)
    }

    func signIn(_ role: OperatorRole = .operator) async throws -> Browser {
        let token = try #require(tokens[role])
        let answer = try await call("POST", "/api/sign-in", ["token": .string(token)])
        let cookie = answer.headers["Set-Cookie"]?.split(separator: ";").first.map(String.init)
        return Browser(cookie: try #require(cookie), proof: try #require(answer["proof"]?.string))
    }

    /// Carries out an act as the page does: it asks for the count first, then confirms it.
    func act(_ name: String, _ body: JSONObject, as browser: Browser, because: String = "why not") async throws
        -> Answer
    {
        let asked = try await call("POST", "/api/acts/\(name)", .object(body), as: browser)
        let count = try #require(asked["question"]?["count"], "\(asked)")
        var agreed = body
        agreed["agreed"] = count
        agreed["asOf"] = asked["question"]?["asOf"]
        agreed["because"] = .string(because)
        return try await call("POST", "/api/acts/\(name)", .object(agreed), as: browser)
    }
}
