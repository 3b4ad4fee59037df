import BellhopJSON
import TestSupport
import Testing

@Suite("Canonical JSON")
struct JSONWriterTests {
    @Test("keys are sorted by their bytes at every level, and only necessary escapes are written")
    func form() throws {
        let value = JSONParser().parse(
            Array(#"{ "b": [1.0, {"z":0,"y":"\u00e5\/\"\u0001\n"}], "B":true, "a":null }"#.utf8)
        )
        let written = String(decoding: JSONWriter.canonicalBytes(of: try value.get()), as: UTF8.self)
        #expect(written == #"{"B":true,"a":null,"b":[1.0,{"y":"å/\"\u0001\n","z":0}]}"#)
    }

    @Test("every character that needs an escape is escaped at any position, and no other", arguments: 0..<20)
    func escapes(length: Int) {
        let escapes: [(String, String)] = [
            ("\"", "\\\""), ("\\", "\\\\"), ("\u{1F}", "\\u001f"), ("\u{7F}", "\u{7F}"), ("#", "#"), ("ß", "ß"),
        ]
        for place in 0...length {
            for (character, escape) in escapes {
                let before = String(repeating: "!", count: place)
                let after = String(repeating: " ", count: length - place)
                let written = JSONWriter.canonicalBytes(of: .string(before + character + after))
                #expect(String(decoding: written, as: UTF8.self) == "\"" + before + escape + after + "\"")
            }
        }
    }

    @Test("written JSON reads back equal, and is written the same again")
    func roundTrip() throws {
        var random = RandomJSON(generator: .announced("canonical JSON"))
        let parser = JSONParser(limits: JSONParser.Limits(bytes: 1 << 24, depth: 64))
        for _ in 0..<SeededChance.rounds(300) {
            let value = random.value()
            let written = JSONWriter.canonicalBytes(of: value)
            let read = try parser.parse(written).get()
            #expect(read == value)
            #expect(read.hashValue == value.hashValue)
            #expect(JSONWriter.canonicalBytes(of: read) == written)
        }
    }

    @Test("the order of members changes neither equality nor bytes, and their values do")
    func order() {
        let one: JSONValue = ["a": 1, "b": [2, 3]]
        let other: JSONValue = ["b": [2, 3], "a": 1]
        #expect(one == other)
        #expect(JSONWriter.canonicalBytes(of: one) == JSONWriter.canonicalBytes(of: other))
        #expect(one != ["a": 1, "b": [3, 2]])
        #expect(one != ["a": 1])
        #expect(JSONValue.string("\u{E5}") != .string("a\u{30A}"))
    }

    @Test("setting members replaces, appends and removes them")
    func members() {
        var object: JSONObject = ["a": 1, "b": 2]
        object["a"] = 3
        object["c"] = 4
        object["b"] = nil
        object["x"] = nil
        #expect(object.members.map(\.key) == ["a", "c"])
        #expect(object["a"] == 3)
        #expect(JSONObject([("k", 1), ("k", 2)])["k"] == 2)
    }
}
