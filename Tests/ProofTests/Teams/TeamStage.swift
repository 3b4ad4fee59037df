import BellhopJSON
import Foundation
import IntegrationSupport
import Sandbox
import TestSupport

/// An installation as one team finds it: worker, scheduler and API as processes, the team's sign-in, and the providers'
/// sandbox in place of the phones.
struct TeamStage: Sendable {
    let stage: Stage
    let issuer: TeamIssuer
    let sandbox: ProviderSandbox
    /// The token with which the team's functions publish.
    let publisher: String
    private let port: UInt16

    /// The address of the API and of the notification centre.
    var origin: String { "http://127.0.0.1:\(port)" }

    static func with(_ issuer: TeamIssuer, _ body: (TeamStage) async throws -> Void) async throws {
        let sandbox = try await ProviderSandbox.start()
        let result: Result<Void, any Error>
        do {
            result = .success(try await Stage.with { try await body(try await TeamStage($0, issuer, sandbox)) })
        } catch {
            result = .failure(error)
        }
        await sandbox.stop(grace: .zero)
        try result.get()
    }

    private init(_ stage: Stage, _ issuer: TeamIssuer, _ sandbox: ProviderSandbox) async throws {
        self.stage = stage
        self.issuer = issuer
        self.sandbox = sandbox
        let providers = ["BELLHOP_PROVIDERS": try ProvidersFile(in: stage.folder, [issuer.app: sandbox]).path]
        let publishers = stage.folder.path + "/publishers.json"
        let made = try await stage.bellhop(
            "keys",
            "publisher",
            "--name",
            "function",
            "--app",
            issuer.app,
            "--set",
            publishers
        )
        guard let token = made.firstMatch(of: /bhpub_[A-Za-z0-9_-]{43}/) else {
            throw ProofFailure("no token in \(made)")
        }
        publisher = String(token.0)
        let settings = [
            "BELLHOP_SIGN_IN": try issuer.write(to: stage.folder), "BELLHOP_PUBLISHERS": publishers,
            "BELLHOP_API_LISTEN": "127.0.0.1:0",
        ]
        let api = try stage.start(
            Program.bellhop,
            ["api"],
            stage.environment(settings.merging(providers) { $1 })
        )
        _ = try await stage.worker(providers)
        _ = try await stage.scheduler(providers)
        try await api.waitForLog("service=\"inbox API\"")
        guard let address = api.log.firstMatch(of: /service="inbox API" address=http:\/\/127\.0\.0\.1:([0-9]+)/),
            let port = UInt16(address.1)
        else { throw ProofFailure("the API does not say where it listens:\n\(api.log)") }
        self.port = port
    }

    // MARK: - The team's programs

    /// Calls the API as a user whose client has a token of the team's sign-in.
    @discardableResult
    func call(_ method: String, _ path: String, _ body: String = "", as user: String) async throws -> JSONValue {
        try await send(method, path, body, ["Authorization: Bearer \(try issuer.token(user))"])
    }

    /// Publishes as a function of the team, with these headers.
    @discardableResult
    func publish(_ body: String, _ headers: String...) async throws -> JSONValue {
        try await send("POST", "/api/events", body, ["Authorization: Bearer \(publisher)"] + headers)
    }

    private func send(_ method: String, _ path: String, _ body: String, _ headers: [String]) async throws -> JSONValue {
        let call = PlainCall(method, port: port, path: path, headers: headers, body: Array(body.utf8))
        let answer = try await call.answer()
        guard (200..<300).contains(answer.status) else {
            throw ProofFailure("\(method) \(path): \(answer.status) \(answer.text)")
        }
        return answer.body.isEmpty ? .null : try JSONParser().parse(answer.body).get()
    }

    // MARK: - Results

    /// Waits for a push to this device and returns it.
    func push(_ provider: ProviderName, to token: String) async throws -> ReceivedRequest {
        var found: ReceivedRequest?
        try await eventually("a push to \(token)", atMost: .proof) {
            found = sandbox.received(provider).first { $0.token == token }
            return found != nil
        }
        guard let found, found.refused == nil else { throw ProofFailure("the push to \(token) was refused") }
        return found
    }

    /// Waits until the user's list has a notification with this title, and returns it.
    func item(_ title: String, of user: String) async throws -> JSONValue {
        var found: JSONValue?
        try await eventually("\(title) is in the list of \(user)", atMost: .proof) {
            let list = try await call("GET", "/api/notifications", as: user)["data"]?.array
            found = list?.first { $0["title"]?.string == title }
            return found != nil
        }
        return found ?? .null
    }

    /// Waits until the database has a row that the query counts.
    func wait(for query: String) async throws {
        try await eventually(query, atMost: .proof) { try await stage.count(query) > 0 }
    }
}
