import ServiceRuntime
import Testing

@Suite("Percent escapes")
struct PercentEncodingTests {
    @Test("are read in either case, and a plus is a space only in forms")
    func decoding() {
        #expect(PercentEncoding.decode("a%20b%c3%A5+".utf8) == "a bå+")
        #expect(PercentEncoding.decode("a+b%2B".utf8, plusIsSpace: true) == "a b+")
        #expect(PercentEncoding.decode("".utf8) == "")
    }

    @Test(
        "that are invalid, are not UTF-8 or contain a NUL have no text",
        arguments: ["%", "%4", "%zz", "%+1", "%ff", "a%00b"]
    )
    func refusals(text: String) {
        #expect(PercentEncoding.decode(text.utf8) == nil)
    }

    @Test("decode to the text from which they were encoded")
    func encoding() {
        #expect(PercentEncoding.encode("a/b å-._~9%") == "a%2Fb%20%C3%A5-._~9%25")
        let every = String(decoding: (1...127).map { UInt8($0) }, as: UTF8.self)
        #expect(PercentEncoding.decode(PercentEncoding.encode(every).utf8) == every)
    }
}
