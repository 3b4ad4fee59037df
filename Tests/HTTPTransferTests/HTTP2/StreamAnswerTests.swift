import HTTPTransfer
import Testing

@Suite("The answer on a stream")
struct StreamAnswerTests {
    private func take(_ fields: [(String, String)], into answer: inout StreamAnswer) -> Bool {
        answer.beginHead()
        let areTaken = fields.allSatisfy { name, value in
            Array(name.utf8).withUnsafeBufferPointer { name in
                Array(value.utf8).withUnsafeBufferPointer { answer.takeField(name, $0) }
            }
        }
        answer.endHead()
        return areTaken
    }

    @Test("is there once the head is, whatever interim ones came before")
    func heads() {
        var answer = StreamAnswer()
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
        "has no status that is no number of three digits",
        arguments: ["", "2", "20", "2000", "-20", "+20", "2x0", "٢٠٠", String(repeating: "9", count: 100)]
    )
    func status(text: String) {
        var answer = StreamAnswer()
        #expect(!take([(":status", text)], into: &answer))
        #expect(answer.finished(newConnections: 0) == nil)
    }

    @Test("with a status below 200 is none", arguments: ["000", "099", "100", "199"])
    func interim(status: String) {
        var answer = StreamAnswer()
        #expect(take([(":status", status)], into: &answer))
        #expect(answer.finished(newConnections: 0) == nil)
    }

    @Test("ends a head that grows beyond its bound")
    func endlessHead() {
        var answer = StreamAnswer()
        let field = ("x", String(repeating: "y", count: 999))
        #expect(take([(":status", "200")] + Array(repeating: field, count: 65), into: &answer))
        var other = StreamAnswer()
        #expect(!take([(":status", "200")] + Array(repeating: field, count: 66), into: &other))
    }
}
