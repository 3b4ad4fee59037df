import HTTPTransfer
import Testing

@Suite("Incoming answers")
struct IncomingAnswerTests {
    private func take(_ fields: [(String, String)], into answer: inout IncomingAnswer) -> Bool {
        answer.beginHead()
        let areTaken = fields.allSatisfy { name, value in
            Array(name.utf8).withUnsafeBufferPointer { name in
                Array(value.utf8).withUnsafeBufferPointer { answer.takeField(name, $0) }
            }
        }
        answer.endHead()
        return areTaken
    }

    @Test("an answer is complete after its final head, whatever interim heads came before")
    func heads() {
        var answer = IncomingAnswer()
        #expect(answer.finished(newConnections: 0) == nil)
        #expect(take([(":status", "103"), ("early", "1"), ("retry-after", "9")], into: &answer))
        #expect(answer.finished(newConnections: 0) == nil)
        #expect(take([(":status", "429"), ("retry-after", "7"), ("retry-after", "8")], into: &answer))
        #expect(take([("tail", "1")], into: &answer))
        let finished = answer.finished(newConnections: 1)
        #expect(finished?.status == 429)
        #expect(finished?.retryAfterSeconds == 7)
        #expect(finished?.headers["early"] == nil)
        #expect(finished?.headers["tail"] == nil)
        #expect(finished?.newConnections == 1)
    }

    @Test(
        "an answer has no status if it is not a number of three digits",
        arguments: ["", "2", "20", "2000", "-20", "+20", "2x0", "٢٠٠", String(repeating: "9", count: 100)]
    )
    func status(text: String) {
        var answer = IncomingAnswer()
        #expect(!take([(":status", text)], into: &answer))
        #expect(answer.finished(newConnections: 0) == nil)
    }

    @Test("a status below 200 is not a final answer", arguments: ["000", "099", "100", "199"])
    func interim(status: String) {
        var answer = IncomingAnswer()
        #expect(take([(":status", status)], into: &answer))
        #expect(answer.finished(newConnections: 0) == nil)
    }

    @Test("a head that exceeds its limit ends the answer")
    func endlessHead() {
        var answer = IncomingAnswer()
        let field = ("x", String(repeating: "y", count: 999))
        #expect(take([(":status", "200")] + Array(repeating: field, count: 65), into: &answer))
        var other = IncomingAnswer()
        #expect(!take([(":status", "200")] + Array(repeating: field, count: 66), into: &other))
    }

    private func answer(_ lines: [String], body: String = "", limit: Int = 10) -> IncomingAnswer {
        var answer = IncomingAnswer()
        for line in lines {
            let isTaken = Array("\(line)\r\n".utf8).withUnsafeBytes { answer.takeLine($0) }
            #expect(isTaken)
        }
        if !body.isEmpty { _ = Array(body.utf8).withUnsafeBytes { answer.takeBody($0, limit: limit) } }
        return answer
    }

    @Test(
        "an answer in lines detects a missing part",
        arguments: [
            ("200", 4, true), ("200", -1, true), ("200", 0, true), ("200", 5, false), ("404", 5, false),
            ("204", 5, true), ("304", 5, true), ("000", -1, false), ("100", -1, false),
        ]
    )
    func completeness(status: String, announced: Int, isComplete: Bool) {
        let answer = answer(["HTTP/1.1 \(status) Some words", "a: b", ""], body: "body")
        let isThere = answer.finished(.http1, newConnections: 0) != nil && !answer.misses(announced: announced)
        #expect(isThere == isComplete)
    }

    @Test("an answer that was cut at the limit is complete, and one without the end of its head is not")
    func cuts() {
        let cut = answer(["HTTP/2 200", ""], body: "longer than that")
        #expect(cut.isBodyTruncated)
        #expect(!cut.misses(announced: 16))
        let open = answer(["HTTP/2 200", "a: b"]).finished(newConnections: 0)
        #expect(open == nil)
    }

    @Test("an answer in lines drops interim headers and ignores trailers")
    func lines() {
        let lines = [
            "HTTP/1.1 103", "Retry-After: 1", "early: 1", "", "HTTP/1.1 200 OK", "a: b", "empty:", "no field", "",
            "trailer: 1", "HTTP/9.9 999",
        ]
        let finished = answer(lines).finished(.http1, newConnections: 0)
        #expect(finished?.status == 200)
        #expect(finished?.version == .http1)
        #expect(finished?.retryAfterSeconds == nil)
        #expect(finished?.headers["a"] == "b")
        #expect(finished?.headers["empty"] == "")
        #expect(finished?.headers["early"] == nil)
        #expect(finished?.headers["trailer"] == nil)
    }

    @Test("an answer in lines finds a Retry-After in any spelling")
    func retryAfter() {
        let finished = answer(["HTTP/1.1 503 Busy", "RETRY-after:  7 ", ""]).finished(.http1, newConnections: 0)
        #expect(finished?.retryAfterSeconds == 7)
    }

    @Test("a head in lines that exceeds its limit ends the answer")
    func endlessLines() {
        var answer = answer(["HTTP/1.1 200 OK"])
        let line = Array("x: \(String(repeating: "y", count: 1000))\r\n".utf8)
        let taken = (0..<1000).prefix { _ in line.withUnsafeBytes { answer.takeLine($0) } }
        #expect(taken.count == 64 * 1024 / line.count)
    }
}
