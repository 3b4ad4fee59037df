@testable import API
import HTTPServer
import Testing

@Suite("Bearer token of a request")
struct BearerTokenTests {
    private static func request(_ fields: [String]) throws -> HTTPRequest {
        var headers = HTTPHeaders()
        for field in fields { headers.add("Authorization", field) }
        let target = try #require(RequestTarget("/"))
        return HTTPRequest(method: "GET", target: target, headers: headers)
    }

    @Test(
        "the scheme is read in any case, and with any number of spaces",
        arguments: [
            "Bearer a.b.c", "bearer a.b.c", "BEARER a.b.c", "Bearer   a.b.c", " Bearer a.b.c ",
        ]
    )
    func token(field: String) throws {
        let token = try Self.request([field]).bearerToken
        #expect(token == .success("a.b.c"))
    }

    @Test(
        "anything else has no token",
        arguments: [
            [], [""], ["Bearer"], ["Bearer "], ["a.b.c"], ["Basic a.b.c"], ["Bearer a b"], ["Bearer\ta.b.c"],
            ["Bearera.b.c"], ["Bearer a", "Bearer a"],
        ]
    )
    func missing(fields: [String]) throws {
        let token = try Self.request(fields).bearerToken
        #expect(token == .failure(.missing))
    }

    @Test("a field that is longer than any token is not taken apart")
    func tooLong() throws {
        let text = String(repeating: "a", count: 9_000)
        let token = try Self.request(["Bearer " + text]).bearerToken
        #expect(token == .failure(.tooLong))
    }
}
