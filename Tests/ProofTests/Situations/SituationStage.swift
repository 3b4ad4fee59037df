import AMQP
import Foundation
import Glibc
import HTTPServer
import IntegrationSupport
import Pipeline
import ServiceRuntime
import TestSupport

/// A worker or a pool, a scheduler and a console whose servers can be cut off, in one situation.
struct SituationStage: Sendable {
    private let stage: Stage
    private let broker: TCPProxy
    private let database: TCPProxy
    private let worker: Role
    private let scheduler: Role
    private let console: SignedInConsole
    /// The settings of the shell that runs `bellhop status`.
    private let shell: [String: String]
    /// The roles whose `/readyz` cannot answer in this situation.
    private var silent: Set<String> = []

    /// Runs a body in a situation.
    static func with(_ situation: Situation, _ body: (SituationStage) async throws -> Void) async throws {
        try await Stage.with { stage in
            let (broker, database) = (try stage.servers.brokerProxy(), try stage.servers.databaseProxy())
            defer {
                broker.stop()
                database.stop()
            }
            try await FullLane.withManagement(of: stage) { management in
                var situated = try await SituationStage(situation, stage, broker, database, management)
                try await situated.enter(situation)
                try await body(situated)
            }
        }
    }

    private init(
        _ situation: Situation,
        _ stage: Stage,
        _ broker: TCPProxy,
        _ database: TCPProxy,
        _ management: String
    ) async throws {
        let urls = [
            "BELLHOP_AMQP_URL": broker.url(replacingHostOf: stage.servers.amqp),
            "BELLHOP_DATABASE_URL": database.url(replacingHostOf: stage.servers.database),
        ]
        var shell = urls
        // An operator whose own connection works already, while those of the roles do not.
        if situation == .databaseBack { shell["BELLHOP_DATABASE_URL"] = stage.servers.database }
        if situation == .brokerBack { shell["BELLHOP_AMQP_URL"] = stage.servers.amqp }
        if situation == .laneFull { shell["BELLHOP_MANAGEMENT_URL"] = management }
        let own = situation == .poolPauses || situation == .catalogsDiffer ? try Self.ownCatalogs(stage) : [:]
        let words =
            switch situation {
            case .poolPauses: ["pool", "--workers", "1"]
            case .laneFull: ["worker", "--lanes", "urgent,bulk"]
            default: ["worker"]
            }
        async let scheduler = stage.scheduler(urls)
        async let console = SignedInConsole(on: stage, shell)
        async let worker = stage.role(words, urls.merging(own) { $1 })
        (self.stage, self.broker, self.database, self.shell) = (stage, broker, database, shell)
        (self.worker, self.scheduler, self.console) = (try await worker, try await scheduler, try await console)
    }

    /// Returns the setting of a folder with the shipped catalogues, one of which has another label.
    private static func ownCatalogs(_ stage: Stage) throws -> [String: String] {
        let folder = stage.folder.appendingPathComponent("catalogs")
        try FileManager.default.copyItem(at: Program.catalogs, to: folder)
        let zones = ("timezone: \"Europe/Oslo\"", "timezone: \"UTC\"")
        let changed = try ServerFixture.changed("drop", replacing: zones.0, with: zones.1)
        try Data(changed.utf8).write(to: folder.appendingPathComponent("drop.json5"))
        return ["BELLHOP_CATALOGS": folder.path]
    }

    // MARK: - Situations

    private mutating func enter(_ situation: Situation) async throws {
        switch situation {
        case .nothingWrong, .catalogsDiffer: break
        case .databaseAway: database.stop()
        case .databaseBack:
            database.stop()
            try await age("worker,scheduler")
        case .brokerAway, .brokerBack: broker.stop()
        case .bothAway:
            broker.stop()
            database.stop()
        case .hungWorker: try await hang(worker, "worker")
        case .hungScheduler: try await hang(scheduler, "scheduler")
        case .poolPauses: try await loseWorker()
        case .laneFull: try await FullLane.fill(stage)
        }
    }

    /// Stops a process as a debugger or a hanging disk does, for as long as its heartbeats take to become old.
    private mutating func hang(_ role: Role, _ name: String) async throws {
        role.child.send(SIGSTOP)
        silent = [name]
        try await age(name)
    }

    /// Makes the latest heartbeats of processes older than those of a process that works.
    private func age(_ roles: String) async throws {
        _ = try await stage.owner.run(
            "UPDATE processes SET seen_at = now() - interval '40 s' WHERE role = ANY (string_to_array($1, ','))",
            [.text(roles)]
        )
    }

    /// Breaks a catalogue and ends the only worker of the pool, so that the next one cannot start.
    private mutating func loseWorker() async throws {
        try Data("{ half a".utf8).write(to: stage.folder.appendingPathComponent("catalogs/drop.json5"))
        silent = ["worker"]
        for process in worker.livingWorkers { kill(process, SIGTERM) }
        try await worker.child.waitForLog("the worker cannot start")
    }

    // MARK: - Questions

    func readiness() async throws -> [String] {
        var lines: [String] = []
        for (name, role) in [("worker", worker), ("scheduler", scheduler)] {
            if silent.contains(name) {
                lines.append("\(name): \(await Self.isSilent(role) ? "no answer" : "an answer")")
            } else {
                let answer = try await role.readiness().words.split(separator: "\n")
                lines += answer.map { SituationReport.masked("\(name): \($0)") }
            }
        }
        return lines
    }

    /// Whether the endpoint accepts no connection or leaves a request without an answer.
    private static func isSilent(_ role: Role) async -> Bool {
        guard let port = role.port else { return false }
        return await onOwnThread {
            guard let client = RawClient(port: port, patience: 1) else { return true }
            client.send("GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
            return client.read() == nil
        }
    }

    func status() async throws -> [String] {
        let child = try stage.start(Program.bellhop, ["status"], stage.environment(shell))
        try await child.ending()
        let lines = child.log.split(separator: "\n", omittingEmptySubsequences: false)
        guard let heading = lines.firstIndex(where: { $0.hasPrefix("Bellhop, namespace ") }) else {
            throw ProofFailure("no status:\n\(child.log)")
        }
        let block = lines[(heading + 2)...].prefix { !$0.isEmpty }
        return SituationReport.problems(in: block).map { $0.replacing("\(stage.namespace)", with: "bellhop") }
    }

    /// Returns the console's problems as `status` prints them, and the headings above them.
    func consoleProblems() async throws -> (texts: [String], headings: [String]) {
        let problems = try await console.problems()
        let texts = problems.map { SituationReport.masked($0.text) }
        let headings = ["broken", "degraded", "to-do", "on-purpose"].compactMap { severity -> String? in
            let count = problems.filter { $0.severity == severity }.count
            return count == 0 ? nil : "\(severity): \(count)"
        }
        return (texts.isEmpty ? ["All is well."] : texts, headings.isEmpty ? ["no problems"] : headings)
    }
}

extension ServerAddresses {
    /// Returns a proxy in front of the broker.
    func brokerProxy() throws -> TCPProxy {
        guard let parts = URLComponents(string: amqp), let host = parts.host else {
            throw ProofFailure("the broker's URL names no host")
        }
        return try TCPProxy(to: host, parts.port ?? 5672)
    }
}

/// A running `bellhop console` and an operator's session.
private struct SignedInConsole {
    struct Problem: Decodable {
        let severity: String
        let text: String
    }

    private struct Status: Decodable {
        let problemDetails: [Problem]
    }

    private let port: UInt16
    private let cookie: String

    init(on stage: Stage, _ settings: [String: String]) async throws {
        let file = stage.folder.appendingPathComponent("operators.json").path
        let token = try await stage.bellhop("keys", "operator", "--name", "ada", "--set", file, "--json")
        guard let word = token.firstMatch(of: /"token":"([^"]+)"/)?.1 else { throw ProofFailure("no token: \(token)") }
        let own = ["BELLHOP_OPERATORS": file, "BELLHOP_CONSOLE_LISTEN": "127.0.0.1:0"]
        let console = try await stage.role(["console"], settings.merging(own) { $1 })
        guard let port = URL(string: try console.address(of: "service=console"))?.port.flatMap(UInt16.init(exactly:))
        else { throw ProofFailure("the console has no port") }
        self.port = port
        let body = Array("{\"token\":\"\(word)\"}".utf8)
        let answer = try await PlainCall("POST", port: port, path: "/api/sign-in", body: body).answer()
        guard let found = answer.head.firstMatch(of: /(?i)set-cookie: *([^;\r\n]+)/) else {
            throw ProofFailure("no session: \(answer.status) \(answer.text)")
        }
        cookie = String(found.1)
    }

    func problems() async throws -> [Problem] {
        let call = PlainCall("GET", port: port, path: "/api/status", headers: ["Cookie: \(cookie)"])
        return try JSONDecoder().decode(Status.self, from: Data(try await call.answer().body)).problemDetails
    }
}
