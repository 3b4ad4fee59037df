import HTTPServer
import Testing

@Suite("Notes of requests")
struct RequestNoteTests {
    @Test("a value is computed once for a request and its copies")
    func once() throws {
        let request = HTTPRequest(method: "GET", target: try #require(RequestTarget("/")))
        let copy = request
        var count = 0
        for request in [request, copy] {
            let value = request.note.value {
                count += 1
                return "value \(count)"
            }
            #expect(value == "value 1")
        }
        let other = HTTPRequest(method: "GET", target: try #require(RequestTarget("/")))
        let value = other.note.value { "another" }
        #expect(value == "another")
    }
}
