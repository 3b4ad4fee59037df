import HTTPTransfer
import Testing

@Suite("Headers of an answer")
struct AnswerHeadersTests {
    private let headers = AnswerHeaders(
        lines: Array(
            "Apns-Id: one\r\nno colon here\r\nX-Many:first\r\nx-many:  \t second \t\r\nEmpty:\r\nTime: 10:20:30\n".utf8
        )
    )

    @Test("headers are found in any case, and the first of several wins")
    func lookUp() {
        #expect(headers["apns-id"] == "one")
        #expect(headers["APNS-ID"] == "one")
        #expect(headers["X-many"] == "first")
    }

    @Test("a header value loses its surrounding blanks and nothing else")
    func values() {
        #expect(headers.values(of: "x-many") == ["first", "second"])
        #expect(headers["empty"] == "")
        #expect(headers["time"] == "10:20:30")
    }

    @Test("a missing header is nil")
    func missing() {
        #expect(headers["apns"] == nil)
        #expect(headers["no colon here"] == nil)
        #expect(headers.values(of: "absent").isEmpty)
        #expect(AnswerHeaders(lines: [])["any"] == nil)
    }

    @Test("a header value may contain bytes that are not UTF-8")
    func invalidText() {
        #expect(AnswerHeaders(lines: Array("a: ".utf8) + [0xff, 0x0a])["a"] == "\u{fffd}")
    }
}
