import HTTPTransfer
import Testing

@Suite("The buffer of an answer")
struct AnswerBufferTests {
    private func buffer(_ lines: [String], body: String = "", limit: Int = 10) -> AnswerBuffer {
        var buffer = AnswerBuffer(bodyLimit: limit)
        for line in lines { #expect(Array("\(line)\r\n".utf8).withUnsafeBytes { buffer.takeLine($0) }) }
        if !body.isEmpty { _ = Array(body.utf8).withUnsafeBytes { buffer.takeBody($0) } }
        return buffer
    }

    @Test(
        "knows whether something is missing",
        arguments: [
            (200, 4, true), (200, -1, true), (200, 0, true), (200, 5, false), (404, 5, false), (204, 5, true),
            (304, 5, true), (0, -1, false), (100, -1, false),
        ]
    )
    func completeness(status: Int, announced: Int, isComplete: Bool) {
        let buffer = buffer(["HTTP/2 200", "a: b", ""], body: "body")
        #expect(buffer.isComplete(status: status, announced: announced) == isComplete)
    }

    @Test("misses nothing when it cut the body itself, and everything without the end of the head")
    func cuts() {
        let cut = buffer(["HTTP/2 200", ""], body: "longer than that")
        #expect(cut.isBodyTruncated)
        #expect(cut.isComplete(status: 200, announced: 16))
        #expect(!buffer(["HTTP/2 200", "a: b"]).isComplete(status: 200, announced: -1))
    }

    @Test("forgets an interim answer and ignores trailers")
    func heads() {
        let buffer = buffer(["HTTP/2 103", "Retry-After: 1", "early: 1", "", "HTTP/2 200", "a: b", "", "trailer: 1"])
        #expect(buffer.lines == Array("a: b\r\n".utf8))
        #expect(!buffer.hasRetryAfter)
    }

    @Test("ends a head that grows beyond its bound")
    func endlessHead() {
        var buffer = buffer(["HTTP/2 200"])
        let line = Array("x: \(String(repeating: "y", count: 1000))\r\n".utf8)
        let taken = (0..<1000).prefix { _ in line.withUnsafeBytes { buffer.takeLine($0) } }
        #expect(taken.count == 64 * 1024 / line.count)
    }
}
