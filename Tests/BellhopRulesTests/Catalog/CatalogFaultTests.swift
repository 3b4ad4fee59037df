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

    @Test("a small catalogue is enough")
    func small() throws {
        let set = try CatalogSet.load(files: [("one.json5", Array(catalog().utf8))]).get()
        let app = try #require(AppID(validating: "one"))
        #expect(set[app]?.types.map(\.type.text) == ["a"])
        #expect(set.catalogs.count == 1)
        #expect(try CatalogSet.load(files: []).get().catalogs.isEmpty)
    }

    @Test("all faults of all files come at once, with file, line, place and expectation")
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
        let colours = "a colour such as #0B6E35, found a string of another form"
        let lines = "a non-empty string of one line, at most 255 bytes"
        #expect(
            found == [
                "1.json5:1:1: /language: expected \(LanguageTag.rule), found nothing",
                "1.json5:2:3: /app: expected \(AppID.rule), found a string of another form",
                "1.json5:3:3: /langauge: unknown key; did you mean language?",
                "1.json5:6:5: /types/no type: expected a type's name of \(EventType.rule)",
                "1.json5:8:7: /types/a/priority: expected one of high, normal, low, found a string of another form",
                "1.json5:10:7: /types/a/colour: unknown key; did you mean color?",
                "1.json5:11:7: /types/a/color: expected \(colours)",
                "1.json5:12:7: /types/a/icon: expected \(lines), found a number",
                "2.json5:2:8: unexpected character",
                "3.json5:1:1: expected an object, found an array",
            ]
        )
    }

    @Test("two files for one app are a fault of the second")
    func duplicates() {
        let found = faults([("1.json5", catalog()), ("2.json5", catalog()), ("3.json5", catalog(app: "three"))])
        #expect(found.map(\.description) == ["2.json5:1:2: /app: this app is described in 1.json5 already"])
    }

    @Test(
        "each fault inside a type is seen",
        arguments: [
            ("", "/types", "at least one type"), ("a: 5", "/types/a", "expected an object"),
            ("a: {label: {en: 'A'}}", "/types/a/priority", "found nothing"),
            ("a: {priority: 'low'}", "/types/a/label", "found nothing"),
            ("a: {priority: 'low', label: {nb: 'A'}}", "/types/a/label", "own language en is missing"),
            ("a: {priority: 'low', label: {en: ''}}", "/types/a/label/en", "non-empty string"),
            ("a: {priority: 'low', label: {'x!': 'A', en: 'A'}}", "/types/a/label/x!", "language tag"),
            (
                "a: {priority: 'low', label: {en: 'A'}, templates: {nb: {title: 'T'}}}", "/types/a/templates",
                "language en"
            ),
            (
                "a: {priority: 'low', label: {en: 'A'}, templates: {en: {}}}", "/types/a/templates/en/title",
                "found nothing"
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
            ("a: {priority: 'low', label: {en: 'A'}, link: {web: '/'}}", "/types/a/link/mobile", "found nothing"),
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

    @Test("a file that is no text, empty or endless is a fault and nothing worse")
    func files() {
        for bytes in [[], [0xFF, 0xFE], Array("/*".utf8), [UInt8](repeating: 0x5B, count: 100_000)] as [[UInt8]] {
            #expect(CatalogSet.load(files: [("1", bytes)]).failure?.faults.count == 1)
        }
        let large = [UInt8](repeating: 0x20, count: 4 * 1024 * 1024 + 1)
        #expect(CatalogSet.load(files: [("1", large)]).failure?.faults.first?.message == "larger than the limit")
    }

    /// One thing wrong in an otherwise right catalogue.
    struct Wrong: Sendable {
        var app = ""
        var type = ""
        let pointer: String
        let part: String
        /// Whether only the reader can see it.
        var isBeyondSchema = false
    }

    static let bad: [Wrong] = [
        Wrong(app: "oops: 1,", pointer: "/oops", part: "unknown key"),
        Wrong(app: "providers: [],", pointer: "/providers", part: "at least one"),
        Wrong(app: "providers: 'fcm',", pointer: "/providers", part: "a list"),
        Wrong(app: "providers: ['fcm', 'post'],", pointer: "/providers/1", part: "one of apns, fcm, expo, webpush"),
        Wrong(app: "providers: ['fcm', 'fcm'],", pointer: "/providers/1", part: "in this list already"),
        Wrong(app: "aliases: {'a b': 'c'},", pointer: "/aliases/a b", part: "names"),
        Wrong(app: "phrases: {p: 'x'},", pointer: "/phrases/p", part: "an object"),
        Wrong(app: "phrases: {p: {en: ''}},", pointer: "/phrases/p/en", part: "non-empty"),
        Wrong(app: "phrases: {'p q': {en: 'x'}},", pointer: "/phrases/p q", part: "a name"),
        Wrong(app: "phrases: {p: {nb: 'x'}},", pointer: "/phrases/p", part: "own language en", isBeyondSchema: true),
        Wrong(app: "phrases: {p: {en: '{'}},", pointer: "/phrases/p/en", part: "without", isBeyondSchema: true),
        Wrong(
            app: "link: {web: '/{a, number}', mobile: '/'},",
            pointer: "/link/web",
            part: "names alone",
            isBeyondSchema: true
        ),
        Wrong(app: "routes: {schema: '/x'},", pointer: "/routes/schema", part: "paths such as /schema"),
        Wrong(app: "routes: {'/schema/': '/x'},", pointer: "/routes/~1schema~1", part: "paths such as"),
        Wrong(app: "routes: {'/': '/x'},", pointer: "/routes/~1", part: "paths such as"),
        Wrong(app: "routes: {'/a': '/b?c'},", pointer: "/routes/~1a", part: "paths such as"),
        Wrong(app: "routes: {'/a': 5},", pointer: "/routes/~1a", part: "paths such as"),
        Wrong(
            app: "routes: {'/a': '/b', '/b': '/c'},",
            pointer: "/routes/~1a",
            part: "rewritten itself",
            isBeyondSchema: true
        ),
        Wrong(app: "routes: {'/a': '/a/b'},", pointer: "/routes/~1a", part: "rewritten itself", isBeyondSchema: true),
        Wrong(app: "topics: {fold: ['safe']},", pointer: "/topics/fold", part: "unknown key"),
        Wrong(app: "topics: {foldCase: ['safe:1']},", pointer: "/topics/foldCase/0", part: "without a colon"),
        Wrong(app: "preferences: {mastre: {}},", pointer: "/preferences/mastre", part: "mean master"),
        Wrong(app: "preferences: {master: {}},", pointer: "/preferences/master/label", part: "found nothing"),
        Wrong(
            app: "preferences: {quietHours: {startHour: 24}},",
            pointer: "/preferences/quietHours/startHour",
            part: "from 0 to 23"
        ),
        Wrong(
            app: "preferences: {quietHours: {endHour: 7.5}},",
            pointer: "/preferences/quietHours/endHour",
            part: "a whole number"
        ),
        Wrong(
            app: "preferences: {quietHours: {enabled: 'no'}},",
            pointer: "/preferences/quietHours/enabled",
            part: "true or false"
        ),
        Wrong(app: "quietHours: 'later',", pointer: "/quietHours", part: "one of defer, drop, bypass"),
        Wrong(app: "quietHours: {ios: 'later'},", pointer: "/quietHours/ios", part: "one of defer, drop, bypass"),
        Wrong(app: "quietHours: {iso: 'drop'},", pointer: "/quietHours/iso", part: "mean ios"),
        Wrong(app: "digest: {templates: {en: {title: 'T'}}},", pointer: "/digest/at", part: "found nothing"),
        Wrong(app: "digest: {at: ['08:00']},", pointer: "/digest/templates", part: "found nothing"),
        Wrong(
            app: "digest: {at: ['8:00'], templates: {en: {title: 'T'}}},",
            pointer: "/digest/at/0",
            part: "local time"
        ),
        Wrong(
            app: "digest: {at: ['08:00'], days: ['monday'], templates: {en: {title: 'T'}}},",
            pointer: "/digest/days/0",
            part: "mon, tue"
        ),
        Wrong(
            app: "digest: {at: ['08:00'], titles: 0, templates: {en: {title: 'T'}}},",
            pointer: "/digest/titles",
            part: "from 1 to 20"
        ),
        Wrong(
            app: "digest: {at: ['08:00'], templates: {en: {title: '{n}'}}},",
            pointer: "/digest/templates/en/title",
            part: "known are count, titles, more",
            isBeyondSchema: true
        ),
        Wrong(app: "android: {chanel: 'x'},", pointer: "/android/chanel", part: "mean channel"),
        Wrong(app: "apns: {mutableContent: 1},", pointer: "/apns/mutableContent", part: "true or false"),
        Wrong(type: "mandatory: 'yes'", pointer: "/types/t/mandatory", part: "true or false"),
        Wrong(
            type: "mandatory: true, defaults: {push: false}",
            pointer: "/types/t/defaults/push",
            part: "never off",
            isBeyondSchema: true
        ),
        Wrong(
            type: "mandatory: true, whenMuted: 'drop'",
            pointer: "/types/t/whenMuted",
            part: "never muted",
            isBeyondSchema: true
        ),
        Wrong(type: "whenMuted: 'keep'", pointer: "/types/t/whenMuted", part: "one of record, drop"),
        Wrong(type: "roles: []", pointer: "/types/t/roles", part: "at least one"),
        Wrong(type: "roles: ['the owner']", pointer: "/types/t/roles/0", part: "letters, digits"),
        Wrong(type: "expiresAfter: 24", pointer: "/types/t/expiresAfter", part: "such as 90s or 24h"),
        Wrong(type: "expiresAfter: '0h'", pointer: "/types/t/expiresAfter", part: "such as 90s or 24h"),
        Wrong(
            type: "expiresAfter: '400d'",
            pointer: "/types/t/expiresAfter",
            part: "at most 365d",
            isBeyondSchema: true
        ),
        Wrong(type: "quietHours: true", pointer: "/types/t/quietHours", part: "one of defer"),
        Wrong(type: "digest: true", pointer: "/types/t/digest", part: "the app has no digest", isBeyondSchema: true),
        Wrong(type: "digest: 'yes'", pointer: "/types/t/digest", part: "true or false"),
        Wrong(type: "retryLimit: 0", pointer: "/types/t/retryLimit", part: "from 1 to 100"),
        Wrong(type: "retryLimit: 1e2", pointer: "/types/t/retryLimit", part: "a whole number", isBeyondSchema: true),
        Wrong(type: "sound: 'ding'", pointer: "/types/t/sound", part: "true or false"),
        Wrong(type: "badge: 1", pointer: "/types/t/badge", part: "true or false"),
        Wrong(type: "android: 'x'", pointer: "/types/t/android", part: "an object"),
        Wrong(
            type: "android: {visibility: 'PUBLIC'}",
            pointer: "/types/t/android/visibility",
            part: "one of public, private, secret"
        ),
        Wrong(type: "android: {importance: 5}", pointer: "/types/t/android/importance", part: "one of min, low"),
        Wrong(type: "android: {sound: ''}", pointer: "/types/t/android/sound", part: "one line"),
        Wrong(
            type: "apns: {interruptionLevel: 'timeSensitive'}",
            pointer: "/types/t/apns/interruptionLevel",
            part: "time-sensitive"
        ),
        Wrong(type: "apns: {thread: 7}", pointer: "/types/t/apns/thread", part: "one line"),
        Wrong(
            type: "link: {web: '/', mobile: '/', schema: 'a://b'}",
            pointer: "/types/t/link/schema",
            part: "mean scheme"
        ),
        Wrong(type: "color: '#12345G'", pointer: "/types/t/color", part: "a colour"),
    ]

    /// Members of an app and of its type that are right.
    static let good: [(app: String, type: String)] = [
        ("", ""), ("providers: ['webpush', 'fcm'],", ""), ("aliases: {a: 'b.c'},", ""),
        ("phrases: {p: {en: 'x', 'nb-NO': '{a}'}},", "templates: {en: {title: '{p, phrase}'}}"),
        ("link: {web: '/', mobile: '/{a.b}', scheme: 'x://{a}'},", ""), ("routes: {'/a': '/b', '/a/b': '/c'},", ""),
        ("topics: {foldCase: ['safe', 'Å']},", ""), ("topics: {},", ""), ("preferences: {},", ""),
        ("preferences: {master: {label: {en: 'x', sv: 'y'}}, quietHours: {}},", ""),
        ("preferences: {quietHours: {label: {en: 'x'}, enabled: true, startHour: 0, endHour: 23}},", ""),
        ("quietHours: 'drop',", "quietHours: {ios: 'bypass'}"), ("quietHours: {},", "quietHours: 'defer'"),
        (
            "digest: {at: ['08:00', '00:00'], days: ['sun'], titles: 20, templates: {en: {title: '{count}', body: '{more}'}}},",
            "digest: true"
        ),
        (
            "android: {channel: 'c'}, apns: {},",
            "android: {visibility: 'private'}, apns: {interruptionLevel: 'critical'}"
        ),
        ("", "mandatory: true, roles: ['a', 'b'], expiresAfter: '365d', retryLimit: 100, sound: true, badge: false"),
        ("", "whenMuted: 'drop', icon: 'x', color: '#abcdef', background: '#ABCDEF', defaults: {}"),
        ("", "templates: {en: {title: 'T'}, EN_gb: {title: 'T', body: 'B\\n'}}"),
    ]

    @Test("each fault of the newer keys is seen, alone, with its place", arguments: bad.indices)
    func keys(index: Int) throws {
        let row = Self.bad[index]
        let found = faults([("1.json5", String(decoding: CatalogSchemaTests.file(row.app, row.type), as: UTF8.self))])
        #expect(found.map(\.pointer.text) == [row.pointer])
        #expect(found.first?.message.contains(row.part) == true, "\(found)")
        #expect(found.first?.line == (row.app.isEmpty ? 2 : 1))
    }

    @Test("a high priority cannot wait for a digest")
    func urgentDigest() {
        let digest = "digest: {at: ['08:00'], templates: {en: {title: 'T'}}},"
        let text = catalog(types: "a: {priority: 'high', label: {en: 'A'}, digest: true}")
            .replacing("types:", with: "\(digest) types:")
        #expect(faults([("1", text)]).map(\.message) == ["what has high priority cannot wait"])
    }

    @Test("a language that stands there twice, in two spellings, is a fault")
    func sameLanguage() {
        let found = faults([("1", catalog(types: "a: {priority: 'low', label: {en: 'A', 'nb-NO': 'B', NB_no: 'C'}}"))])
        #expect(found.map(\.pointer.text) == ["/types/a/label/NB_no"])
    }
}
