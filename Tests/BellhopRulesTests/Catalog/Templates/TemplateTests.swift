import BellhopRules
import Testing

@Suite("Grammar of templates")
struct TemplateTests {
    private static let address: JSONValue = "0x1234567890AbCdEf1234567890aBcDeF12345678"

    static let table: [(template: String, data: JSONObject, words: String)] = [
        ("plain", [:], "plain"), ("{a}", ["a": "x"], "x"), ("{ a }", ["a": "x"], "x"), ("{a.b}", ["a": ["b": 1]], "1"),
        ("it's {a}'s 'own'", ["a": "x"], "it's x's 'own'"), ("d'{a}", ["a": "x"], "d'x"), ("'{'a'}'", [:], "{a}"),
        ("'{''}'", [:], "{}"), ("#'#'#", [:], "###"), ("''", [:], "''"), ("'{'", [:], "{"),
        // plural
        ("{n, plural, one {# day} other {# days}}", ["n": 1], "1 day"),
        ("{n, plural, one {# day} other {# days}}", ["n": 0], "0 days"),
        ("{n,plural,one{# day}other{# days}}", ["n": "12345"], "12,345 days"),
        ("{n, plural, one {# day} other {# days}}", ["n": TemplateSample.number("1.0")], "1.0 days"),
        ("{n, plural, one {# day} other {# days}}", ["n": -1], "-1 day"),
        ("{n, plural,\n =0 {none}\n =1 {the one}\n other {#}\n}", ["n": 0], "none"),
        ("{n, plural, =0 {none} =1 {the one} other {#}}", ["n": "1.00"], "the one"),
        ("{n, plural, =1000 {a lot} other {#}}", ["n": TemplateSample.number("1e3")], "a lot"),
        ("{n, plural, other {}}!", ["n": 5], "!"), ("{n, plural, other {'{'#'#''}'}}", ["n": 5], "{5#}"),
        ("{n, plural, other {{who}: #}}", ["n": 5, "who": "me"], "me: 5"),
        (
            "{n, plural, one {{k, select, a {# a} other {# b}}} other {{m, plural, one {# in} other {#s in}} #}}",
            ["n": 3, "m": 1, "k": "a"], "1 in 3"
        ),
        (
            "{n, plural, one {{k, select, a {# a} other {# b}}} other {{m, plural, one {# in} other {#s in}} #}}",
            ["n": 1, "m": 1, "k": "a"], "1 a"
        ),
        // select
        ("{k, select, a {A} other {B}}", ["k": "a"], "A"), ("{k, select, a {A} other {B}}", ["k": "A"], "B"),
        ("{k, select, 1 {one} other {B}}", ["k": 1], "one"), ("{k, select, 1 {one} other {B}}", ["k": "1"], "one"),
        ("{k, select, true {yes} other {no}}", ["k": true], "yes"),
        ("{k, select, true {yes} other {no}}", ["k": "true"], "yes"),
        ("{k, select, true {yes} other {no}}", ["k": false], "no"),
        ("{k, select, other {}}", ["k": "other"], ""), ("{k, select, in-app {I} other {B}}", ["k": "in-app"], "I"),
        // number
        ("{n, number}", ["n": TemplateSample.number("1234567.50")], "1,234,567.50"),
        ("{n, number}", ["n": "1234567.50"], "1,234,567.50"),
        ("{n, number}", ["n": 999], "999"), ("{n, number}", ["n": TemplateSample.number("-0.0")], "0.0"),
        ("{n, number}", ["n": "-0"], "0"),
        ("{n, number}", ["n": "007"], "7"), ("{n, number}", ["n": "1e-3"], "0.001"),
        ("{n, number}", ["n": TemplateSample.number("1e6")], "1,000,000"),
        // short
        ("{a, short}", ["a": address], "0x1234…5678"), ("{a, short}", ["a": "0x12345678"], "0x12345678"),
        ("{a, short}", ["a": "123456789012"], "123456789012"), ("{a, short}", ["a": "1234567890123"], "123456…0123"),
        ("{a, short}", ["a": "👍🏽🇳🇴👩‍👩‍👧‍👦éééééééé🇸🇪"], "👍🏽🇳🇴👩‍👩‍👧‍👦ééé…ééé🇸🇪"),
    ]

    @Test("each form gives the expected text", arguments: table.indices)
    func forms(index: Int) throws {
        let row = Self.table[index]
        #expect(try TemplateSample.render(row.template, row.data).get() == row.words, "\(row.template)")
    }

    static let faults: [(template: String, part: String)] = [
        ("{", "a { without its }"), ("a {b", "a { without its }"), ("}", "a } without its {"),
        ("a }} b", "a } without"),
        ("{{a}}", "write '{' for a brace"), ("{}", "a placeholder is a name"), ("{a b}", "a placeholder is a name"),
        ("{a,}", "unknown form"), ("{a, plurals, other {}}", "unknown form"), ("{a, number, 2}", "expected }"),
        ("{a, short", "expected }"), ("{a, number", "expected }"), ("{n, plural}", "expected a comma"),
        ("{n, plural,}", "the category other"), ("{n, plural, one {x}}", "the category other"),
        ("{n, plural, other}", "a word and its text"), ("{n, plural, other {x}", "expected }"),
        ("{n, plural, other {x", "expected }"), ("{n, plural, few {x} other {y}}", "known are one, other and =N"),
        ("{n, plural, One {x} other {y}}", "no plural category"), ("{n, plural, =x {x} other {y}}", "=N needs"),
        ("{n, plural, =-1 {x} other {y}}", "=N needs"), ("{n, plural, =1 {x} =01 {y} other {y}}", "=N needs"),
        ("{n, plural, other {x} other {y}}", "twice"), ("{n, plural, offset:1 other {y}}", "a word and its text"),
        ("{k, select, a {x}}", "the choice other"), ("{k, select, a {x} a {y} other {}}", "twice"),
        ("{k, select, {x} other {}}", "a word and its text"), ("{k k, select, other {}}", "a placeholder is a name"),
        ("{v, units}", "units needs"), ("{v, units, }", "a placeholder is a name"), ("{v, units, 256}", "units needs"),
        ("{v, units, 18.5}", "units needs"), ("{v, units, 18, x}", "units needs"),
        ("{v, units, 18, 256}", "units needs"),
        ("{v, units, 18, 2, 2}", "expected }"), ("{v, units, a b}", "a placeholder is a name"),
        ("{p, phrase}", "no phrase of this name stands above; there is none"),
        ("{n, plural, other {}}}", "a } without"),
    ]

    @Test("an unreadable template is a fault with its place", arguments: faults.indices)
    func unreadable(index: Int) throws {
        let (template, part) = Self.faults[index]
        let message = try #require(TemplateSample.fault(template), "\(template) was read")
        #expect(message.contains(part), "\(template): \(message)")
    }

    @Test("a fault counts characters from one")
    func place() {
        #expect(TemplateSample.fault("åå {n, plural, one {x}}")?.hasSuffix("(at character 24)") == true)
        #expect(TemplateSample.fault("åå {b c}")?.hasSuffix("(at character 4)") == true)
    }

    @Test("nested texts and pieces have limits")
    func limits() {
        func nested(_ levels: Int) -> String {
            (0..<levels).reduce("x") { text, _ in "{k, select, other {\(text)}}" }
        }
        #expect(TemplateSample.fault(nested(5)) == nil)
        #expect(TemplateSample.fault(nested(6))?.contains("more than 5 texts inside one another") == true)
        #expect(TemplateSample.fault(nested(5000))?.contains("longer than 16384 bytes") == true)
        #expect(TemplateSample.fault(String(repeating: "{a}", count: 1000)) == nil)
        #expect(TemplateSample.fault(String(repeating: "{a}", count: 1001))?.contains("more than 1000 pieces") == true)
    }

    @Test("phrases are shared, and may use those above them")
    func phrases() throws {
        let phrases: JSONObject = [
            "chain": "{id, select, 1 {Ethereum} other {chain {id}}}", "place": "on {chain, phrase}",
        ]
        #expect(try TemplateSample.render("{place, phrase}!", ["id": "1"], phrases: phrases).get() == "on Ethereum!")
        #expect(try TemplateSample.render("{ chain , phrase }", ["id": 5], phrases: phrases).get() == "chain 5")
        let upsideDown: JSONObject = ["a": "{b, phrase}", "b": "x"]
        #expect(TemplateSample.fault("x", phrases: upsideDown) == "no phrase of this name stands above; there is none")
        #expect(TemplateSample.fault("{c, phrase}", phrases: phrases)?.hasSuffix("known are chain, place") == true)
    }

    @Test("the growth of phrases is limited")
    func phrasesGrow() {
        var wide: [(String, JSONValue)] = [("p0", "{a}")]
        for level in 1...6 {
            wide.append(("p\(level)", .string(String(repeating: "{p\(level - 1), phrase}", count: 10))))
        }
        #expect(TemplateSample.fault("x", phrases: JSONObject(wide))?.contains("more than 1000 pieces") == true)
        var deep: [(String, JSONValue)] = [("p0", "{a}")]
        for level in 1...6 {
            deep.append(("p\(level)", .string("{k, select, other {{p\(level - 1), phrase}}}")))
        }
        #expect(TemplateSample.fault("x", phrases: JSONObject(deep))?.contains("texts inside one another") == true)
    }

    @Test(
        "direction marks, joined emoji and combining marks are unchanged",
        arguments: [
            "\u{2067}שלום\u{2069} 12", "👩‍👩‍👧‍👦 🇳🇴", "e\u{301}\u{302}", "\u{200F}-5", "क्षि", "\u{1112}\u{1161}\u{11AB}",
        ]
    )
    func untouched(text: String) throws {
        let rendered = try TemplateSample.render(
            "\(text) {a} {n, plural, other {\(text)#}}",
            ["a": .string(text), "n": 1]
        )
        .get()
        #expect(Array(rendered.utf8) == Array("\(text) \(text) \(text)1".utf8))
    }
}
