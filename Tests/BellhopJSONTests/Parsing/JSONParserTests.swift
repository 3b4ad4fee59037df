import BellhopJSON
import TestSupport
import Testing

@Suite("Strict JSON")
struct JSONParserTests {
    @Test(
        "every form that RFC 8259 permits is read",
        arguments: [
            ("null", .null), (" true\n", true), ("\t[ ]\r", []), ("{}", [:]), (#""""#, ""), ("0", 0),
            ("-12", -12), (#""a\"\\\/\b\f\n\r\t\u00e5""#, "a\"\\/\u{8}\u{C}\n\r\tå"),
            (#""\ud83d\ude00 😀 \u00E5""#, "😀 😀 å"),
            (#"{"a":[1,{"b":null}],"":false}"#, ["a": [1, ["b": .null]], "": false]),
            (
                "\"12345678901234567890 and more than eight at once \\n\"",
                "12345678901234567890 and more than eight at once \n"
            ),
            ("\"\u{7F}\u{80}\u{7FF}\u{800}\u{FFFF}\u{10FFFF}\"", "\u{7F}\u{80}\u{7FF}\u{800}\u{FFFF}\u{10FFFF}"),
        ] as [(String, JSONValue)]
    )
    func accepts(text: String, value: JSONValue) throws {
        #expect(try JSONParser().parse(Array(text.utf8)).get() == value)
    }

    @Test("the end of a string, an escape and a control character are found at any position", arguments: 0..<20)
    func positions(length: Int) throws {
        let before = String(repeating: "a", count: length)
        // These differ from the characters that matter by one, or by the bits that a subtraction may borrow.
        for neighbour in ["", "!", "#", "[", "]", " ", "\u{7F}", "é"] {
            let text = before + neighbour
            let plain = "[\"\(text)\",\"#!\"]"
            #expect(try JSONParser().parse(Array(plain.utf8)).get() == [.string(text), "#!"])
            let escaped = "\"\(text)\\n\(neighbour)\""
            #expect(try JSONParser().parse(Array(escaped.utf8)).get() == .string("\(text)\n\(neighbour)"))
            let fault = JSONParser().parse(Array("\"\(text)\u{1F}\(neighbour)\"".utf8)).failure
            #expect(fault?.code == .controlCharacter)
            #expect(fault?.offset == 1 + text.utf8.count)
        }
    }

    @Test(
        "forms that RFC 8259 forbids are rejected, with the reason and the place",
        arguments: [
            ("", JSONFault.Code.empty, 0), ("  ", .empty, 2), ("{", .unexpectedEnd, 1), ("[1", .unexpectedEnd, 2),
            (#""abc"#, .unexpectedEnd, 4), (#""a\"#, .unexpectedEnd, 3), (#"{"a""#, .unexpectedEnd, 4),
            ("tru", .unexpectedEnd, 3), ("trux", .unexpectedCharacter, 3), ("nil", .unexpectedCharacter, 1),
            ("[1,]", .unexpectedCharacter, 3), (#"{"a":1,}"#, .unexpectedCharacter, 7),
            ("{a:1}", .unexpectedCharacter, 1),
            ("['a']", .unexpectedCharacter, 1), ("// c\n1", .unexpectedCharacter, 0),
            ("[1 2]", .unexpectedCharacter, 3),
            ("{} {}", .trailingContent, 3), ("1 x", .trailingContent, 2), ("\u{FEFF}{}", .byteOrderMark, 0),
            ("01", .invalidNumber, 0), ("-", .unexpectedEnd, 1), ("1.", .unexpectedEnd, 2), ("[1.]", .invalidNumber, 1),
            ("[1e]", .invalidNumber, 1), ("[-x]", .invalidNumber, 1), ("+1", .unexpectedCharacter, 0),
            (".5", .unexpectedCharacter, 0), ("NaN", .unexpectedCharacter, 0), ("Infinity", .unexpectedCharacter, 0),
            ("0x1", .trailingContent, 1), (#""\x41""#, .invalidEscape, 1), (#""\u12g4""#, .invalidEscape, 1),
            (#""\ud800""#, .loneSurrogate, 1), (#""\udc00""#, .loneSurrogate, 1),
            (#""\ud800\u0041""#, .loneSurrogate, 1),
            (#""\ud800\n""#, .loneSurrogate, 1), ("\"a\nb\"", .controlCharacter, 2),
            ("\"\u{0}\"", .controlCharacter, 1),
            ("\"abcdefgh\u{1F}\"", .controlCharacter, 9), (#"{"a":1,"b":2,"a":3}"#, .duplicateKey, 13),
            (#"{"a":1,"\u0061":3}"#, .duplicateKey, 7),
        ]
    )
    func refuses(text: String, code: JSONFault.Code, offset: Int) throws {
        let fault = try #require(JSONParser().parse(Array(text.utf8)).failure)
        #expect(fault.code == code)
        #expect(fault.offset == offset)
    }

    @Test(
        "ill-formed UTF-8 is rejected at any position in a string",
        arguments: [
            [0x80], [0xBF], [0xC0, 0x80], [0xC1, 0xBF], [0xC3], [0xC3, 0x28], [0xE0, 0x80, 0x80], [0xE2, 0x82],
            [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF], [0xEF, 0xBF], [0xF0, 0x80, 0x80, 0x80], [0xF0, 0x9F, 0x98],
            [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFE], [0xFF],
        ] as [[UInt8]]
    )
    func refusesIllFormedUTF8(sequence: [UInt8]) throws {
        for prefix in [[], Array("abcdefghijk".utf8), Array("\\n".utf8)] as [[UInt8]] {
            let bytes = [0x22] + prefix + sequence + [0x22] as [UInt8]
            let fault = try #require(JSONParser().parse(bytes).failure)
            #expect(fault.code == .invalidUTF8)
            #expect(fault.offset >= 1 + prefix.count)
        }
        #expect(throws: JSONFault.self) { try JSONParser().parse(sequence).get() }
    }

    @Test("line and column count characters, and lines end with LF, CR or both")
    func places() throws {
        let text = "{\n  \"å\": 1,\r\n\r  \"åå\" 2}"
        let fault = try #require(JSONParser().parse(Array(text.utf8)).failure)
        #expect(fault.line == 4)
        #expect(fault.column == 8)
        #expect(fault.message == "unexpected character (line 4, column 8, byte 24)")
    }

    @Test("depth is limited, and 100,000 brackets do not exhaust the stack")
    func depth() throws {
        func nested(_ levels: Int) -> [UInt8] {
            Array((String(repeating: "[", count: levels) + String(repeating: "]", count: levels)).utf8)
        }
        #expect(throws: Never.self) { try JSONParser().parse(nested(32)).get() }
        for levels in [33, 100_000] {
            let fault = try #require(JSONParser().parse(nested(levels)).failure)
            #expect(fault.code == .tooDeep)
            #expect(fault.offset == 32)
        }
        let limits = JSONParser.Limits(bytes: 1_000_000, depth: .max)
        let objects = Array(String(repeating: #"{"a":"#, count: 100_000).utf8)
        let fault = try #require(JSONParser(limits: limits).parse(objects).failure)
        #expect(fault.code == .tooDeep)
    }

    @Test("input beyond the limit is rejected without being read")
    func size() throws {
        let parser = JSONParser(limits: JSONParser.Limits(bytes: 4, depth: 4))
        #expect(throws: Never.self) { try parser.parse(Array("1234".utf8)).get() }
        let fault = try #require(parser.parse(Array("12345".utf8)).failure)
        #expect(fault.code == .tooLarge)
    }

    @Test("repeated keys are found among many, and spellings of one letter are different keys")
    func manyKeys() throws {
        let keys = (0..<5000).map { #""k\#($0)":\#($0)"# }
        let unique = Array("{\(keys.joined(separator: ","))}".utf8)
        let object = try #require(try JSONParser().parse(unique).get().object)
        #expect(object.count == 5000)
        #expect(object["k4999"] == 4999)
        let repeated = Array("{\(keys.joined(separator: ",")),\"k17\":0}".utf8)
        #expect(throws: JSONFault.self) { try JSONParser().parse(repeated).get() }
        let spellings = try JSONParser().parse(Array("{\"\u{E5}\":1,\"a\u{30A}\":2}".utf8)).get()
        #expect(spellings["\u{E5}"] == 1)
        #expect(spellings["a\u{30A}"] == 2)
    }
}
