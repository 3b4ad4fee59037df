import BellhopRules
import Testing

@Suite("Missing values of templates")
struct MissingValueTests {
    static let table: [(template: String, data: JSONObject, pointer: String, part: String)] = [
        ("{a}", [:], "/data/a", "a string or a number at /data/a, found no value"),
        ("{a}", ["a": true], "/data/a", "a string or a number at /data/a, found a boolean"),
        ("{a}", ["a": ""], "/data/a", "found an empty string"),
        ("{a.b}", ["a": 1], "/data/a/b", "found no value"),
        ("{n, plural, other {}}", [:], "/data/n", "a number (or a string with one) at /data/n, found no value"),
        ("{n, plural, other {}}", ["n": "many"], "/data/n", "found a different string"),
        ("{n, number}", ["n": "1,000"], "/data/n", "found a different string"),
        ("{n, number}", ["n": "+1"], "/data/n", "found a different string"),
        ("{n, number}", ["n": "1."], "/data/n", "found"),
        ("{n, number}", ["n": ".5"], "/data/n", "found"), ("{n, number}", ["n": "1e"], "/data/n", "found"),
        ("{n, number}", ["n": "1e999"], "/data/n", "found"), ("{n, number}", ["n": "0x10"], "/data/n", "found"),
        ("{n, number}", ["n": " 1"], "/data/n", "found"), ("{n, number}", ["n": "-"], "/data/n", "found"),
        ("{n, number}", ["n": "٣"], "/data/n", "found"), ("{n, number}", ["n": ["1"]], "/data/n", "found an array"),
        (
            "{v, units, 18}", ["v": "1.5"], "/data/v",
            "a whole number (or a string with one) at /data/v, found a different string"
        ),
        ("{v, units, 18}", ["v": TemplateSample.number("0.5")], "/data/v", "a whole number"),
        ("{v, units, d}", ["v": 1], "/data/d", "0 to 255"),
        ("{v, units, d}", ["v": 1, "d": 256], "/data/d", "0 to 255"),
        ("{v, units, d}", ["v": 1, "d": -1], "/data/d", "0 to 255"),
        ("{v, units, d}", ["v": 1, "d": "1.5"], "/data/d", "0 to 255"),
        ("{k, select, other {}}", [:], "/data/k", "a word at /data/k, found no value"),
        ("{k, select, other {}}", ["k": .null], "/data/k", "a word at /data/k, found null"),
        ("{a, short}", ["a": [:]], "/data/a", "found an object"),
        ("{k, select, a {{x}} other {{y}}}", ["k": "a", "y": 1], "/data/x", "found no value"),
    ]

    @Test("a missing or unusable value rejects the event", arguments: table.indices)
    func refused(index: Int) throws {
        let row = Self.table[index]
        let rejection = try #require(try TemplateSample.render(row.template, row.data).failure, "\(row.template)")
        #expect(rejection.reason == .invalidField)
        #expect(rejection.pointer.text == row.pointer)
        #expect(rejection.message.contains(row.part), "\(rejection.message)")
    }

    @Test("all missing values are named together, each once, including those of a choice without its value")
    func all() throws {
        let template = "{a} {b} {n, plural, one {{c}} other {{d}}} {a} {ok} {v, units, e}"
        let rejection = try #require(try TemplateSample.render(template, ["ok": 1]).failure)
        #expect(rejection.pointer.text == "/data/a")
        let named =
            "/data/a (found no value), /data/b (found no value), /data/n (found no value), /data/d (found no value)"
        #expect(rejection.message == "the app's template needs 6 values: \(named), /data/v (found no value) and 1 more")
    }

    @Test("the values of unused choices are not needed")
    func lazily() throws {
        let template = "{k, select, a {A} other {{b}}}{n, plural, =0 {} other {{c}}}"
        #expect(try TemplateSample.render(template, ["k": "a", "n": 0]).get() == "A")
    }

    @Test("title and body are checked together, and the message stays short and without content")
    func titleAndBody() throws {
        let long = String(repeating: "n", count: 100)
        let text = """
            {app: "a", language: "en", timezone: "UTC", types: {t: {priority: "low", label: {en: "T"}, templates: {
                en: {title: "{\(long)1} {\(long)2}", body: "{\(long)3} {\(long)4} {\(long)5} {secret} {x}"}}}}}
            """
        let set = try CatalogSet.load(files: [("a", Array(text.utf8))]).get()
        let body: JSONObject = [
            "id": "e", "app": "a", "eventType": "t", "to": ["user": "u"], "data": ["secret": ["hush"]],
        ]
        guard case .event(let event) = try SubmissionParser(set).parse(SampleMessages.envelope(body)).get() else {
            Issue.record("this is not an event")
            return
        }
        let rejection = try #require(set.catalogs[0].render(event, language: nil).failure)
        #expect(rejection.message.contains("needs 7 values"))
        #expect(rejection.message.hasSuffix("and 2 more"))
        #expect(rejection.message.utf8.count < 400)
        #expect(!rejection.message.contains("hush"))
    }
}
