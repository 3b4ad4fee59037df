import BellhopJSON
import HTTPServer
import Testing

@testable import Console

@Suite("The size of an answer")
struct AnswerSizeTests {
    /// Returns an answer with this number of bytes: a text with its quotes.
    private static func answer(_ bytes: Int) throws(ConsoleError) -> HTTPResponse {
        try HTTPResponse.json(.string(String(repeating: "x", count: bytes - 2)))
    }

    @Test("an answer of 32 MiB is sent, and a longer one is rejected with advice")
    func limit() throws {
        _ = try Self.answer(32 << 20)
        do {
            _ = try Self.answer((32 << 20) + 1)
            Issue.record("an answer beyond the limit was sent")
        } catch {
            #expect(error.status == 409)
            #expect(error.message == "the answer exceeds 32 MiB; narrow the filter, or use the command line")
        }
    }
}
