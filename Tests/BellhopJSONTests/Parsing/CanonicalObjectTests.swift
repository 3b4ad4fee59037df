import BellhopJSON
import TestSupport
import Testing

@Suite("Canonical object")
struct CanonicalObjectTests {
    private static func read(_ bytes: [UInt8], depth: Int = 32) -> CanonicalObject? {
        bytes.withUnsafeBytes { CanonicalObject($0, limits: JSONParser.Limits(bytes: 4_096, depth: depth)) }
    }

    private static func text(_ object: CanonicalObject?) -> String? {
        object.map { String(decoding: $0.bytes, as: UTF8.self) }
    }

    @Test(
        "canonical text stays as it is",
        arguments: [
            "{}", #"{"a":1}"#, #"{"":null,"a":true,"b":false}"#, #"{"B":[],"b":[1,-0,0.5,1e9,-1.25E+3],"å":{"a":{}}}"#,
            #"{"a":"plain text of more than eight bytes","aa":"å😀","b":"\n\"\\"}"#,
        ]
    )
    func canonical(text: String) {
        let read = Self.text(Self.read(Array(text.utf8)))
        #expect(read == text)
    }

    @Test(
        "any other form of an object is written again",
        arguments: [
            (#" { "a" : 1 } "#, #"{"a":1}"#), (#"{"b":1,"a":2}"#, #"{"a":2,"b":1}"#),
            (#"{"a":"\u00e5"}"#, #"{"a":"å"}"#),
            (#"{"a":[1, 2]}"#, #"{"a":[1,2]}"#), (#"{"a":{"z":0,"y":"\/"}}"#, #"{"a":{"y":"/","z":0}}"#),
            (#"{"aa":1,"a":2}"#, #"{"a":2,"aa":1}"#), (#"{"\u0061":1,"0":2}"#, #"{"0":2,"a":1}"#),
        ]
    )
    func other(text: String, expected: String) {
        let read = Self.text(Self.read(Array(text.utf8)))
        #expect(read == expected)
    }

    @Test(
        "text that is not an object is rejected",
        arguments: [
            "", "null", "[]", "1", #""a""#, "{", "}", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, #"{,"a":1}"#, #"{"a":1}}"#,
            #"{"a":1} x"#, #"{"a":01}"#, #"{"a":1.}"#, #"{"a":.5}"#, #"{"a":1e}"#, #"{"a":+1}"#, #"{"a":-}"#,
            #"{"a":tru}"#,
            #"{"a":"b}"#, "{\"a\":\"\u{1}\"}", #"{"a":1,"a":2}"#, #"{"a":[1,]}"#, #"{"a":[1}"#, #"{"a":"\x"}"#,
        ]
    )
    func rejected(text: String) {
        #expect(Self.read(Array(text.utf8)) == nil)
    }

    @Test("invalid UTF-8, too many levels and too many bytes are rejected")
    func limits() {
        #expect(Self.read(Array(#"{"a":""#.utf8) + [0xC3, 0x28] + Array(#""}"#.utf8)) == nil)
        let levels = Array(#"{"a":[[1]]}"#.utf8)
        #expect(Self.read(levels, depth: 3) != nil)
        #expect(Self.read(levels, depth: 2) == nil)
        let long = "{\"a\":\"" + String(repeating: "x", count: 4_096) + "\"}"
        #expect(Self.read(Array(long.utf8)) == nil)
    }

    @Test("text is read as the parser and the writer do, whether it is canonical or not")
    func asWritten() {
        var random = RandomJSON(generator: .announced("canonical objects"))
        let parser = JSONParser(limits: JSONParser.Limits(bytes: 4_096, depth: 32))
        for _ in 0..<SeededChance.rounds(2_000) {
            var bytes = random.object().canonicalBytes
            // Half of the texts are changed at one place.
            if Bool.random(using: &random.generator), let place = bytes.indices.randomElement(using: &random.generator)
            {
                let byte = Array(#"{}[],:"\0 1e-.a"#.utf8).randomElement(using: &random.generator) ?? 0
                bytes[place] = byte
            }
            let expected: [UInt8]? =
                if case .success(.object(let object)) = parser.parse(bytes) { object.canonicalBytes } else { nil }
            #expect(Self.read(bytes)?.bytes == expected, "\(String(decoding: bytes, as: UTF8.self))")
        }
    }
}
