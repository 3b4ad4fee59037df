import BellhopJSON
import TestSupport
import Testing

@Suite("JSON5")
struct JSON5Tests {
    private let parser = JSONParser(dialect: .json5, limits: .catalog)

    @Test("comments, bare keys, both quotes and trailing commas are read")
    func document() throws {
        let text = """
            // a comment
            {
              bare: 'single "quoted"', $dollar_1: "double 'quoted'", /* in
              between */ 'key': [1, 2,], "last": {}, åse: null,
            } // the end
            """
        let expected: JSONValue = [
            "bare": "single \"quoted\"", "$dollar_1": "double 'quoted'", "key": [1, 2], "last": [:], "åse": .null,
        ]
        #expect(try parser.parse(Array(text.utf8)).get() == expected)
    }

    @Test(
        "numbers of JSON5 become JSON",
        arguments: [
            ("0x1F", "31"), ("-0xff", "-255"), ("+5", "5"), (".5", "0.5"), ("-.5e3", "-0.5e3"), ("5.", "5"),
            ("5.e2", "5e2"), ("0xFFFFFFFFFFFFFFFF", "18446744073709551615"), ("1.25", "1.25"), ("0", "0"),
        ]
    )
    func numbers(text: String, written: String) throws {
        #expect(try parser.parse(Array(text.utf8)).get().number?.text == written)
        #expect(throws: Never.self) { try JSONParser().parse(Array(written.utf8)).get() }
    }

    @Test(
        "escapes of JSON5 are read",
        arguments: [
            (#"'\'\v\x41\0\a'"#, "'\u{B}A\0a"), ("'one \\\n line'", "one  line"), ("'one \\\r\n line'", "one  line"),
            ("'tab\tinside'", "tab\tinside"), (#"'\u00e5'"#, "å"),
        ]
    )
    func escapes(text: String, value: String) throws {
        #expect(try parser.parse(Array(text.utf8)).get() == .string(value))
    }

    @Test(
        "forms that JSON5 or Bellhop forbids are rejected",
        arguments: [
            ("Infinity", JSONFault.Code.nonFiniteNumber), ("-Infinity", .nonFiniteNumber), ("+NaN", .nonFiniteNumber),
            ("NaN", .nonFiniteNumber), ("[1,,2]", .unexpectedCharacter), ("[,]", .unexpectedCharacter),
            ("{,}", .unexpectedCharacter), ("/* open", .unterminatedComment), ("/*/", .unterminatedComment),
            ("/ 1", .unexpectedCharacter), ("0x", .unexpectedEnd), ("[0xg]", .invalidNumber),
            ("0x10000000000000000", .invalidNumber), ("'a\nb'", .controlCharacter), (#"'\1'"#, .invalidEscape),
            (#"'\x4'"#, .invalidEscape), (#"'\01'"#, .invalidEscape), ("+", .unexpectedEnd), ("-", .unexpectedEnd),
            (".", .unexpectedEnd), ("[.]", .invalidNumber), ("01", .invalidNumber), ("01.", .invalidNumber),
            ("+-1", .unexpectedCharacter), ("{1a: 2}", .unexpectedCharacter), ("{a: 1, a: 2}", .duplicateKey),
            ("{a: 1, 'a': 2}", .duplicateKey), (#"{\u0061: 1}"#, .unexpectedCharacter), ("// only", .empty),
            ("'\"", .unexpectedEnd), ("\u{FEFF}{}", .byteOrderMark),
        ]
    )
    func refuses(text: String, code: JSONFault.Code) throws {
        let fault = try #require(parser.parse(Array(text.utf8)).failure)
        #expect(fault.code == code)
    }

    @Test("every strict document is a JSON5 document with the same value")
    func superset() throws {
        let text = #"{"a":[1,-2.5e3,true,null,"x\ny"],"b":{"c":"å😀"}}"#
        #expect(try parser.parse(Array(text.utf8)).get() == JSONParser().parse(Array(text.utf8)).get())
    }

    @Test("spaces of other scripts separate, and a comment may end a file without a line break")
    func spaces() throws {
        let text = "\u{B}\u{C}\u{A0}\u{2003}{\u{2028}a\u{3000}:\u{202F}1}// x"
        #expect(try parser.parse(Array(text.utf8)).get() == ["a": 1])
    }
}
