import Foundation
import Sandbox
import ServiceRuntime
import Synchronization
import Testing

@testable import Commands

@Suite("bellhop sandbox", .timeLimit(.minutes(5)))
struct SandboxCommandTests {
    private func run(_ words: String...) async -> (code: ExitCode, said: String) {
        let said = Mutex("")
        let surroundings = Surroundings(environment: [:], print: { _ in }, readInput: { [] })
        let code = await Tool.run(["sandbox"] + words, surroundings) { line in said.withLock { $0 += line } }
        return (code, said.withLock { $0 })
    }

    @Test("a port that is taken ends it with what to do")
    func refusesTakenPorts() async throws {
        let other = try await ProviderSandbox.start()
        let (code, said) = await run("--listen", "\(other.address)", "--control", "127.0.0.1:0")
        await other.stop(grace: .zero)
        #expect(code == .configuration)
        #expect(said.contains("listening on \(other.address)"))
        #expect(said.contains("choose another port"))
    }

    @Test(
        "an option that cannot be is a usage error with its name",
        arguments: [
            ("--listen", "8443"), ("--control", "localhost"), ("--project", "My Project"), ("--host", "a,DNS:b"),
            ("--seed", "-1"), ("--listn", "127.0.0.1:0"),
        ]
    )
    func refusesOptions(option: String, value: String) async {
        let (code, said) = await run(option, value)
        #expect(code == .usage)
        #expect(said.contains(option))
    }
}
