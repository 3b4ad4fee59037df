import HTTPServer
import ServiceRuntime
import Settings
import TestSupport
import Testing

@testable import Operations

@Suite("RabbitMQ's management API", .limitedConcurrency, .timeLimit(.ofTest))
struct ManagementTests {
    /// A page in the format of RabbitMQ 3.10 and 4.
    ///
    /// A classic queue without a timestamp has an empty text, a quorum queue no value.
    private let page = """
        {"filtered_count":3,"item_count":3,"items":[
        {"head_message_timestamp":1767225600,"messages_unacknowledged":4,"name":"t.urgent"},
        {"head_message_timestamp":"","messages_unacknowledged":0,"name":"t.normal","arguments":{"x-max-length":20},
        "effective_policy_definition":{"max-length":7}},
        {"name":"t.bulk"}],"page":1,"page_count":1,"page_size":500,"total_count":3}
        """

    @Test("unsettled messages and the age of the oldest are read if the API has them")
    func queues() async throws {
        let api = try await ask("http://ops:pa%40ss@HOST/rabbit/") { [page] request in
            let expected = "Basic b3BzOnBhQHNz"
            guard request.headers["Authorization"] == expected else { return .text("", status: 401) }
            guard request.target.segments == ["rabbit", "api", "queues", "/"] else { return .text("", status: 404) }
            guard request.query("name") == "^t\\." else { return .text("", status: 400) }
            return .json(Array(page.utf8))
        }
        let queues = try api.get()
        #expect(queues["t.urgent"] == .init(unacked: 4, oldestSent: 1_767_225_600_000_000))
        #expect(queues["t.normal"] == .init(unacked: 0, oldestSent: nil, limit: 7))
        #expect(queues["t.bulk"] == .init(unacked: nil, oldestSent: nil))
    }

    @Test(
        "a rejection states its subject and never the password",
        arguments: [(401, "refuses the log-in"), (404, "no such virtual host"), (500, "status 500")]
    )
    func refusals(status: Int, says: String) async throws {
        let result = try await ask("http://ops:hush@HOST") { _ in .text("hush", status: status) }
        #expect(throws: CommandFailure.self) { try result.get() }
        if case .failure(let failure) = result {
            #expect(failure.cameBack.contains(says))
            #expect(!failure.description.contains("hush"))
        }
    }

    @Test("an answer in another format is reported as such")
    func nonsense() async throws {
        let result = try await ask("http://HOST") { _ in .text("<html>") }
        guard case .failure(let failure) = result else {
            Issue.record("it was read")
            return
        }
        #expect(failure.cameBack.contains("not a list of queues"))
    }

    @Test("a missing server is reported as such")
    func nobody() async throws {
        let api = try ManagementAPI(Secret("http://127.0.0.1:1"))
        let namespace = try #require(Namespace("t"))
        await #expect(throws: CommandFailure.self) { try await api.queues(of: namespace, virtualHost: "/") }
    }

    /// Serves one request at the address that replaces `HOST`.
    private func ask(
        _ url: String,
        _ handler: @escaping HTTPHandler
    ) async throws -> Result<[String: ManagementAPI.Queue], CommandFailure> {
        let server = try HTTPServer.start(listen: ListenAddress(host: "127.0.0.1", port: 0), handler: handler)
        let api = try ManagementAPI(Secret(url.replacing("HOST", with: "\(server.address)")))
        let namespace = try #require(Namespace("t"))
        let result: Result<[String: ManagementAPI.Queue], CommandFailure>
        do throws(CommandFailure) {
            result = .success(try await api.queues(of: namespace, virtualHost: "/"))
        } catch {
            result = .failure(error)
        }
        await server.stop()
        return result
    }
}
