import BellhopRules
import Foundation
import HTTPTransfer
import Pipeline
import Push
import Roles
import ServiceRuntime
import Settings

/// Another program that processes W1 in place of our workers.
///
/// It gets its settings as environment variables. It consumes `QUEUE` at `AMQP_URL`, and reads `people` in the schema
/// `SCHEMA` at `DATABASE_URL`. It creates its tables there (``BenchmarkBook/Tables/peer``) and reports a line `consuming`
/// on stderr. It sends each push to `PUSH_URL`, whose certificate an authority in `PUSH_CA` has issued, with
/// `ACCESS_TOKEN`. An incomplete batch waits `PATIENCE_MS` for more events.
struct PeerWorker: Sendable {
    let program: String
    private let account: ServiceAccount
    private let token: AccessToken
    /// Where its pushes go.
    var endpoint: String
    /// The time for which an incomplete batch waits for more events, in milliseconds.
    var patience = 5

    /// Fetches an access token for the peer from the strict sandbox.
    init(_ program: String, on testbed: Testbed, _ stub: PushStub) async throws {
        self.program = program
        endpoint = stub.place.url
        let file = [UInt8](try Data(contentsOf: URL(fileURLWithPath: PushStub.accountFile(testbed))))
        account = try ServiceAccount.read(file).get()
        var options = CurlTransportOptions(name: "bench")
        options.authoritiesFile = PushStub.authoritiesFile(testbed)
        let transport = try CurlTransport(options)
        let source = AccessTokenSource(
            exchange: TokenExchange(account: account),
            transport: transport,
            logger: testbed.setup.configuration.log.makeLogger(label: "bench")
        )
        let fetched = await source.token()
        await transport.close()
        guard case .success(let token) = fetched else {
            throw CommandFailure(
                .tryAgain,
                attempted: "fetching an access token for the peer",
                cameBack: "the sandbox issued none",
                whatToDo: "run it with --keep and read the log of its sandbox in \(testbed.folder)"
            )
        }
        self.token = token
    }

    /// Returns the same peer with another provider.
    func pushing(to endpoint: String) -> PeerWorker {
        var peer = self
        peer.endpoint = endpoint
        return peer
    }

    /// Starts it and waits until it consumes.
    func start(on testbed: Testbed) async throws -> BenchChild {
        let configuration = testbed.setup.configuration
        let process = try testbed.start(
            program: program,
            log: "peer",
            with: [
                "AMQP_URL": configuration.amqpURL?.revealed, "QUEUE": testbed.names.lane(.normal),
                "DATABASE_URL": configuration.databaseURL?.revealed, "SCHEMA": "\(configuration.namespace)",
                "PUSH_URL": "\(endpoint)/v1/projects/\(account.projectID)/messages:send",
                "PUSH_CA": PushStub.authoritiesFile(testbed), "ACCESS_TOKEN": token.secret.revealed,
                "PATIENCE_MS": String(patience),
            ]
        )
        let deadline = ContinuousClock.now + .seconds(60)
        while !process.log.split(separator: "\n").contains("consuming") {
            try process.expectRunning()
            guard ContinuousClock.now < deadline else {
                throw CommandFailure(
                    .answerIsNo,
                    attempted: "starting \(program)",
                    cameBack: "it has not reported the line consuming within 60 s",
                    whatToDo: "correct it; docs/benchmark-peers.md describes what a peer must do"
                )
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        return process
    }
}
