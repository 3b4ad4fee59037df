import HTTPServer
import Testing

@Suite("Router")
struct RouterTests {
    private let router: Router = {
        var router = Router()
        router.add("GET", "/") { _ in .text("root") }
        router.add("GET", "/api/reminders/{id}") { .text("get \($0.parameters["id"] ?? "-")") }
        router.add("DELETE", "/api/reminders/{id}") { .text("delete \($0.parameters["id"] ?? "-")") }
        router.add("GET", "/api/reminders/next") { _ in .text("next") }
        router.add("GET", "/{a}/{b}/x") { .text("\($0.parameters["a"] ?? "-") \($0.parameters["b"] ?? "-")") }
        router.add("POST", "/api/reminders") { _ in .text("post") }
        return router
    }()

    private func answer(_ method: String, _ path: String) async throws -> (status: Int, text: String, allow: String?) {
        let target = try #require(RequestTarget(path))
        let response = await router.respond(to: HTTPRequest(method: method, target: target))
        guard case .bytes(let bytes) = response.body else { return (0, "", nil) }
        return (response.status, String(decoding: bytes, as: UTF8.self), response.headers["allow"])
    }

    @Test(
        "a route is found by method and path, and literal segments precede parameters",
        arguments: [
            ("GET", "/", "root"), ("GET", "/api/reminders/7", "get 7"),
            ("DELETE", "/api/reminders/next", "delete next"),
            ("GET", "/api/reminders/next", "next"), ("HEAD", "/api/reminders/next", "next"),
            ("GET", "/api/reminders/a%2Fb?x=1", "get a/b"), ("GET", "/one/two/x", "one two"),
            ("POST", "/api/reminders", "post"),
        ]
    )
    func found(method: String, path: String, expected: String) async throws {
        let answer = try await answer(method, path)
        #expect(answer.status == 200)
        #expect(answer.text == expected)
    }

    @Test(
        "a path without a route gets 404",
        arguments: ["/nowhere", "/api/reminders/", "/api/reminders/7/", "/API/reminders/7", "/api"]
    )
    func notFound(path: String) async throws {
        let answer = try await answer("GET", path)
        #expect(answer.status == 404)
        #expect(answer.text.contains(#"{"error":{"code":"not-found","message":""#))
    }

    @Test("a path with other methods gets 405 with the allowed methods")
    func notAllowed() async throws {
        let answer = try await answer("PATCH", "/api/reminders/7")
        #expect(answer.status == 405)
        #expect(answer.allow == "DELETE, GET, HEAD")
        #expect(try await self.answer("HEAD", "/api/reminders").allow == "POST")
        #expect(try await self.answer("get", "/").status == 405)
    }

    @Test("an error response is valid JSON, whatever its message contains")
    func failure() {
        let response = HTTPResponse.failure(422, code: "c", message: "a \"b\"\n", field: "/x")
        guard case .bytes(let bytes) = response.body else { return }
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == #"{"error":{"code":"c","message":"a \"b\"\n","field":"/x"}}"# + "\n"
        )
        #expect(response.headers["content-type"] == "application/json")
    }
}
