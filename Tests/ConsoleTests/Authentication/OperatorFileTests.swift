import Foundation
import ServiceRuntime
import Synchronization
import TestSupport
import Testing

@testable import CLI
@testable import Commands
@testable import Console

@Suite("The file of operators")
struct OperatorFileTests {
    @Test("bellhop keys operator adds an operator to the file and prints the only copy of the token")
    func written() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(Servers.uniqueName("operators")).path
        defer { unlink(file) }
        func make(_ words: String...) async -> (code: ExitCode, token: String) {
            let printed = Mutex<[UInt8]>([])
            let output = PrintedOutput { piece in
                printed.withLock { $0 += piece }
                return 0
            }
            let shell = CommandEnvironment(environment: [:], output: output, complaints: output)
            let code = await CommandLineTool.bellhop(with: []).run(["keys", "operator", "--set", file] + words, shell)
            let text = String(decoding: printed.withLock { $0 }, as: UTF8.self)
            return (code, text.firstMatch(of: /bhop_[A-Za-z0-9_-]{43}/).map { String($0.0) } ?? "")
        }
        let first = await make("--name", "ada")
        let second = await make("--name", "bo", "--role", "viewer")
        let again = await make("--name", "ada")
        #expect([first.code, second.code, again.code] == [.done, .done, .done])
        let list = try OperatorFile.read(file: file).get()
        let names = list.operators.map(\.name)
        #expect(names == ["bo", "ada"])
        #expect(list.owner(of: first.token) == nil, "a new token takes the place of the old one")
        #expect(list.owner(of: second.token)?.role == .viewer)
        #expect(list.owner(of: again.token)?.role == .operator)
        let text = try String(contentsOfFile: file, encoding: .utf8)
        #expect(!text.contains("bhop_"))
        let refused = await make("--name", "two words")
        #expect(refused.code == .usage)
    }

    @Test("an invalid list reports all faults together, each with its place")
    func faults() throws {
        let text = """
            {"operators": [
              {"name": "ada", "role": "operator", "tokenHash": "c2hvcnQ"},
              {"name": "b c", "role": "admin", "tokenHash": 1, "token": "x"}
            ]}
            """
        guard case .failure(let faults) = OperatorFile.read(Array(text.utf8), file: "o.json") else {
            Issue.record("it was accepted")
            return
        }
        let places = faults.faults.map(\.pointer.text)
        #expect(places.contains("/operators/0/tokenHash") && places.contains("/operators/1/role"))
        #expect(places.contains("/operators/1/name") && places.contains("/operators/1/token"))
    }
}
