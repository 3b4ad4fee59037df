import BellhopJSON
import TestSupport
import Testing

@Suite("Rows of texts")
struct TextRowsTests {
    /// Returns the rows with three elements each, in JSON; `nil` if the text was declined.
    private static func read(_ text: String) -> [JSONValue]? {
        var rows: [JSONValue] = []
        let isRead = Array(text.utf8).withUnsafeBytes { bytes in
            TextRows.read(bytes, width: 3) { cells in rows.append(.array(cells.map(Self.value))) }
        }
        return isRead ? rows : nil
    }

    private static func value(_ cell: TextRows.Cell) -> JSONValue {
        switch cell {
        case .null: .null
        case .bool(let flag): .bool(flag)
        case .text: .optional(cell.string)
        }
    }

    @Test("rows of texts, flags and nulls are read, with any white space")
    func plain() {
        #expect(Self.read("[]") == [])
        #expect(Self.read(" [ ] ") == [])
        #expect(Self.read(#"[["a",true,null]]"#) == [["a", true, .null]])
        let spaced = " [ [ \"a\" , false , null ] ,\n [\"å😀\", \"\", \"longer than eight bytes\"] ] \t"
        #expect(Self.read(spaced) == [["a", false, .null], ["å😀", "", "longer than eight bytes"]])
    }

    @Test(
        "everything else is declined",
        arguments: [
            "", "null", "{}", "[", "[]]", "[] []", "[null]", "[[]]", #"[["a","b"]]"#, #"[["a","b","c","d"]]"#,
            #"[["a","b",1]]"#, #"[["a","b",{}]]"#, #"[["a","b",[]]]"#, #"[["a","b","\n"]]"#, #"[["a","b","c],]"#,
            #"[["a","b","c"],]"#, #"[["a","b","c",]]"#, #"[["a","b" "c"]]"#, #"[["a","b",nul]]"#, #"[["a","b",nulls]]"#,
            #"[["a","b","c"]"#, #"[["a",,"c"]]"#, #"[["a","b",tru"#,
        ]
    )
    func declined(text: String) {
        #expect(Self.read(text) == nil)
    }

    @Test("a control character in a text is declined")
    func controlCharacter() {
        #expect(Self.read("[[\"a\",\"b\",\"\u{1}\"]]") == nil)
    }

    @Test("what is read equals what the parser reads, also after a change of any byte")
    func asParsed() {
        var generator = SeededChance.announced("rows of texts")
        let parser = JSONParser(limits: .event)
        let cells = [
            #""a""#, #""longer than eight bytes""#, #""å""#, "true", "false", "null", #""\u0041""#, "1", #""""#,
        ]
        for _ in 0..<SeededChance.rounds(2_000) {
            let rows = (0..<Int.random(in: 0...3, using: &generator)).map { _ in
                let row = (0..<3).map { _ in cells.randomElement(using: &generator) ?? "" }
                return "[\(row.joined(separator: Bool.random(using: &generator) ? "," : " , "))]"
            }
            var bytes = Array("[\(rows.joined(separator: ", "))]".utf8)
            if Bool.random(using: &generator), let place = bytes.indices.randomElement(using: &generator) {
                bytes[place] = Array(#"[],"\ntf 1"#.utf8).randomElement(using: &generator) ?? 0
            }
            let text = String(decoding: bytes, as: UTF8.self)
            guard Array(text.utf8) == bytes, let read = Self.read(text) else { continue }
            let parsed = try? parser.parse(bytes).get()
            #expect(parsed == .array(read), "\(text)")
        }
    }
}
