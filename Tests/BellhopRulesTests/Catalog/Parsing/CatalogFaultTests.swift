import BellhopRules
import Testing

@Suite("Faults of catalogues")
struct CatalogFaultTests {
    private func faults(_ files: [(name: String, text: String)]) -> [CatalogFault] {
        CatalogSet.load(files: files.map { ($0.name, Array($0.text.utf8)) }).failure?.faults ?? []
    }

    private func catalog(app: String = "one", types: String = "a: {priority: 'low', label: {en: 'A'}}") -> String {
        "{app: '\(app)', language: 'en', timezone: 'UTC', types: {\(types)}}"
    }

    @Test("a minimal catalogue is valid")
    func small() throws {
        let set = try CatalogSet.load(files: [("one.json5", Array(catalog().utf8))]).get()
        let app = try #require(AppID(validating: "one"))
        #expect(set[app]?.types.map(\.type.text) == ["a"])
        #expect(set.catalogs.count == 1)
        #expect(try CatalogSet.load(files: []).get().catalogs.isEmpty)
    }

    @Test("all faults of all files are reported together, with file, line, place and expectation")
    func allAtOnce() {
        let first = """
            {
              app: "One",
              langauge: "en",
              timezone: "UTC",
              types: {
                "no type": {},
                a: {
                  priority: "urgent",
                  label: { en: "A" },
                  colour: "#112233",
                  color: "red",
                  icon: 5,
                },
              },
            }
            """
        let second = "{ app: 'two',\n  oops }"
        let third = "[]"
        let found = faults([("1.json5", first), ("2.json5", second), ("3.json5", third)]).map(\.description)
        let colours = "a colour such as #0B6E35, found a different string"
        let lines = "a non-empty string of one line, at most 255 bytes"
        #expect(
            found == [
                "1.json5:1:1: /language: expected \(LanguageTag.rule), found no value",
                "1.json5:2:3: /app: expected \(AppID.rule), found a different string",
                "1.json5:3:3: /langauge: unknown key; did you mean language?",
                "1.json5:6:5: /types/no type: expected a type's name of \(EventType.rule)",
                "1.json5:8:7: /types/a/priority: expected one of high, normal, low, found a different string",
                "1.json5:10:7: /types/a/colour: unknown key; did you mean color?",
                "1.json5:11:7: /types/a/color: expected \(colours)",
                "1.json5:12:7: /types/a/icon: expected \(lines), found a number",
                "2.json5:2:8: unexpected character",
                "3.json5:1:1: expected an object, found an array",
            ]
        )
    }

    @Test("a second file for an app is a fault")
    func duplicates() {
        let found = faults([("1.json5", catalog()), ("2.json5", catalog()), ("3.json5", catalog(app: "three"))])
        #expect(found.map(\.description) == ["2.json5:1:2: /app: this app is described in 1.json5 already"])
    }

    @Test(
        "each fault inside a type is detected",
        arguments: [
            ("", "/types", "at least one type"), ("a: 5", "/types/a", "expected an object"),
            ("a: {label: {en: 'A'}}", "/types/a/priority", "found no value"),
            ("a: {priority: 'low'}", "/types/a/label", "found no value"),
            ("a: {priority: 'low', label: {nb: 'A'}}", "/types/a/label", "own language en is missing"),
            ("a: {priority: 'low', label: {en: ''}}", "/types/a/label/en", "non-empty string"),
            ("a: {priority: 'low', label: {'x!': 'A', en: 'A'}}", "/types/a/label/x!", "language tag"),
            (
                "a: {priority: 'low', label: {en: 'A'}, templates: {nb: {title: 'T'}}}", "/types/a/templates",
                "language en"
            ),
            (
                "a: {priority: 'low', label: {en: 'A'}, templates: {en: {}}}", "/types/a/templates/en/title",
                "found no value"
            ),
            (
                "a: {priority: 'low', label: {en: 'A'}, templates: {en: {title: '{'}}}", "/types/a/templates/en/title",
                "without its }"
            ),
            (
                "a: {priority: 'low', label: {en: 'A'}, templates: {en: {title: 'a}'}}}", "/types/a/templates/en/title",
                "without its {"
            ),
            (
                "a: {priority: 'low', label: {en: 'A'}, templates: {en: {title: '{a b}'}}}",
                "/types/a/templates/en/title", "placeholder"
            ),
            (
                "a: {priority: 'low', label: {en: 'A'}, templates: {en: {title: '{}'}}}", "/types/a/templates/en/title",
                "placeholder"
            ),
            (
                "a: {priority: 'low', label: {en: 'A'}, templates: {en: {title: 'T', tittle: 'x'}}}",
                "/types/a/templates/en/tittle", "mean title"
            ),
            (
                "a: {priority: 'low', label: {en: 'A'}, link: {web: 'x', mobile: '/'}}", "/types/a/link/web",
                "begins with /"
            ),
            ("a: {priority: 'low', label: {en: 'A'}, link: {web: '/'}}", "/types/a/link/mobile", "found no value"),
            (
                "a: {priority: 'low', label: {en: 'A'}, link: {web: '/', mobile: '/', scheme: 'drop'}}",
                "/types/a/link/scheme", "URL"
            ),
            ("a: {priority: 'low', label: {en: 'A'}, defaults: {push: 1}}", "/types/a/defaults/push", "true or false"),
            ("a: {priority: 'low', label: {en: 'A'}, defaults: {pusch: true}}", "/types/a/defaults/pusch", "mean push"),
            (
                "'recipient.deleted': {priority: 'low', label: {en: 'A'}}", "/types/recipient.deleted",
                "every app has this type"
            ),
            (
                "'event.cancelled': {priority: 'low', label: {en: 'A'}}", "/types/event.cancelled",
                "every app has this type"
            ),
        ]
    )
    func types(types: String, pointer: String, part: String) throws {
        let found = faults([("1.json5", catalog(types: types))])
        #expect(found.count == 1)
        let fault = try #require(found.first)
        #expect(fault.pointer.text == pointer)
        #expect(fault.message.contains(part), "\(fault.message)")
        #expect(fault.line == 1)
    }

    @Test("aliases are names on both sides")
    func aliases() {
        let text = catalog().replacing("types:", with: "aliases: {txId: 5, 'a b': 'x'}, types:")
        #expect(faults([("1", text)]).map(\.pointer.text) == ["/aliases/txId", "/aliases/a b"])
    }

    @Test("a file that is not text, empty or endless has one fault and no further effect")
    func files() {
        for bytes in [[], [0xFF, 0xFE], Array("/*".utf8), [UInt8](repeating: 0x5B, count: 100_000)] as [[UInt8]] {
            #expect(CatalogSet.load(files: [("1", bytes)]).failure?.faults.count == 1)
        }
        let large = [UInt8](repeating: 0x20, count: 4 * 1024 * 1024 + 1)
        #expect(CatalogSet.load(files: [("1", large)]).failure?.faults.first?.message == "larger than the limit")
    }

    @Test("an app whose zone the tz database lacks is a fault, among the others")
    func unknownZone() {
        let text = catalog(types: "a: {priority: 'normal', label: {en: 'A'}, colour: 1}")
        let files = [("1", Array(text.utf8)), ("2", Array(catalog(app: "two").utf8))]
        let found = CatalogSet.load(files: files) { $0.text != "UTC" }.failure?.faults ?? []
        #expect(found.map { "\($0.file) \($0.pointer.text)" } == ["1 /timezone", "1 /types/a/colour", "2 /timezone"])
        #expect(found.first?.message == "the tz database of this machine has no UTC")
    }

    @Test("the type of reminders is one of the app's types")
    func reminders() {
        let text = catalog(types: "a: {priority: 'normal', label: {en: 'A'}}")
        #expect(faults([("1", text.replacing("types:", with: "reminders: {type: 'a'}, types:"))]).isEmpty)
        let found = faults([("1", text.replacing("types:", with: "reminders: {type: 'b'}, types:"))])
        #expect(found.map(\.pointer.text) == ["/reminders/type"])
    }

    @Test("a high priority cannot wait for a digest")
    func urgentDigest() {
        let digest = "digest: {at: ['08:00'], templates: {en: {title: 'T'}}},"
        let text = catalog(types: "a: {priority: 'high', label: {en: 'A'}, digest: true}")
            .replacing("types:", with: "\(digest) types:")
        #expect(faults([("1", text)]).map(\.message) == ["what has high priority cannot wait"])
    }

    @Test("a language that appears twice, in two spellings, is a fault")
    func sameLanguage() {
        let found = faults([("1", catalog(types: "a: {priority: 'low', label: {en: 'A', 'nb-NO': 'B', NB_no: 'C'}}"))])
        #expect(found.map(\.pointer.text) == ["/types/a/label/NB_no"])
    }
}
