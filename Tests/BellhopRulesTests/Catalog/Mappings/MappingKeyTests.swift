import Testing

@testable import BellhopRules

/// The faults of mappings that the reader of a catalogue reports.
@Suite("Keys of mappings")
struct MappingKeyTests {
    struct Wrong: Sendable {
        let mapping: String
        let pointer: String
        let part: String
        var isBeyondSchema = false
    }

    private static let start = "eventType: '/t', to: {user: '/u'}"

    static let bad: [Wrong] = [
        Wrong(mapping: "x: 5", pointer: "/from/x", part: "an object"),
        Wrong(mapping: "'a b': {\(start)}", pointer: "/from/a b", part: "a mapping's name"),
        Wrong(mapping: "t: {\(start)}", pointer: "/from/t", part: "a type has this name", isBeyondSchema: true),
        Wrong(
            mapping: "'follow.added': {\(start)}",
            pointer: "/from/follow.added",
            part: "a type has this name"
        ),
        Wrong(mapping: "x: {to: {user: '/u'}}", pointer: "/from/x/eventType", part: "found no value"),
        Wrong(mapping: "x: {\(start), titel: '/a'}", pointer: "/from/x/titel", part: "mean title"),
        Wrong(mapping: "x: {\(start), title: 'a'}", pointer: "/from/x/title", part: "a JSON pointer"),
        Wrong(mapping: "x: {\(start), title: '/a~2'}", pointer: "/from/x/title", part: "a JSON pointer"),
        Wrong(
            mapping: "x: {\(start), title: {text: 'a {b}'}}",
            pointer: "/from/x/title",
            part: "{text: …}",
            isBeyondSchema: true
        ),
        Wrong(
            mapping: "x: {\(start), title: {text: 'a {'}}",
            pointer: "/from/x/title",
            part: "{text: …}",
            isBeyondSchema: true
        ),
        Wrong(mapping: "x: {\(start), title: {words: 'a'}}", pointer: "/from/x/title", part: "{text: …}"),
        Wrong(mapping: "x: {\(start), title: []}", pointer: "/from/x/title", part: "a list"),
        Wrong(mapping: "x: {\(start), title: ['/a', ['/b']]}", pointer: "/from/x/title", part: "a list"),
        Wrong(mapping: "x: {\(start), title: {at: '/a', unit: 'ms'}}", pointer: "/from/x/title", part: "{text: …}"),
        Wrong(mapping: "x: {\(start), sentAtIso: {at: '/a', unit: 'h'}}", pointer: "/from/x/sentAtIso", part: "{at: …"),
        Wrong(mapping: "x: {\(start), data: {}}", pointer: "/from/x/data", part: "at least one member"),
        Wrong(mapping: "x: {\(start), data: {a: 'b'}}", pointer: "/from/x/data/a", part: "a JSON pointer"),
        Wrong(mapping: "x: {\(start), route: {desktop: '/a'}}", pointer: "/from/x/route/desktop", part: "web, mobile"),
        Wrong(mapping: "x: {eventType: '/t', to: {}}", pointer: "/from/x/to", part: "exactly one of"),
        Wrong(
            mapping: "x: {eventType: '/t', to: {user: '/u', topic: '/t'}}",
            pointer: "/from/x/to",
            part: "exactly one"
        ),
        Wrong(mapping: "x: {eventType: '/t', to: {everyone: '/u'}}", pointer: "/from/x/to/everyone", part: "true"),
        Wrong(
            mapping: "x: {eventType: '/t'}",
            pointer: "/from/x/to",
            part: "t has none of its own",
            isBeyondSchema: true
        ),
        Wrong(
            mapping: "x: {eventType: {text: 'u'}, to: {user: '/u'}}",
            pointer: "/from/x/eventType",
            part: "one of the app's types",
            isBeyondSchema: true
        ),
        Wrong(
            mapping: "x: {eventType: {text: 't'}, types: {a: 't'}, to: {user: '/u'}}",
            pointer: "/from/x/types",
            part: "cannot be combined",
            isBeyondSchema: true
        ),
        Wrong(mapping: "x: {\(start), types: {}}", pointer: "/from/x/types", part: "at least one name"),
        Wrong(
            mapping: "x: {\(start), types: {a: 'u'}}",
            pointer: "/from/x/types/a",
            part: "one of the app's types",
            isBeyondSchema: true
        ),
        Wrong(mapping: "x: {\(start), others: 'drop'}", pointer: "/from/x/others", part: "one of reject, ignore"),
        Wrong(mapping: "x: {\(start), only: {op: 'c'}}", pointer: "/from/x/only/op", part: "a JSON pointer"),
        Wrong(mapping: "x: {\(start), only: {'/op': {}}}", pointer: "/from/x/only/~1op", part: "a list of them"),
        Wrong(mapping: "x: {\(start), only: {'/op': []}}", pointer: "/from/x/only/~1op", part: "a list of them"),
        Wrong(
            mapping: "x: {\(start), title: '/\(String(repeating: "a", count: 300))'}",
            pointer: "/from/x/title",
            part: "a JSON pointer"
        ),
        Wrong(
            mapping: "x: {\(start), only: {\((1...9).map { "'/\($0)': 1" }.joined(separator: ","))}}",
            pointer: "/from/x/only",
            part: "at most 8"
        ),
    ]

    static func file(_ mapping: String) -> [UInt8] { CatalogKeyTests.file("from: {\(mapping)},") }

    @Test("a fault names its place and the expectation", arguments: bad.indices)
    func faults(index: Int) throws {
        let row = Self.bad[index]
        let faults = try #require(CatalogSet.load(files: [("a.json5", Self.file(row.mapping))]).failure)
        let found = faults.faults.contains { $0.pointer.text == row.pointer && $0.message.contains(row.part) }
        #expect(found, "\(row.mapping): \(faults)")
    }

    @Test(
        "complete mappings are accepted",
        arguments: [
            "x: {\(start)}", "x: {eventType: {text: 't'}, to: {everyone: true}, title: {text: 'T'}}",
            "x: {\(start), only: {'/op': ['c', 1, true, null], '': null}, types: {A: 't'}, others: 'ignore'}",
            "x: {\(start), id: ['/a', {text: '{/b}:{/c}'}], data: '', metadata: {k: '/m'}, route: '/r', noEmail: '/n'}",
            "x: {\(start), data: {when: {at: '/w', unit: 'us'}, text: '/x'}, route: {web: {text: '/a'}}, noEmail: false}",
            "x: {eventType: '/t', to: '/audience', sentAtIso: '/s', deliverAt: {at: '/d', unit: 's'}, expiresAt: ['/e']}",
        ]
    )
    func good(mapping: String) throws {
        #expect(CatalogSet.load(files: [("a.json5", Self.file(mapping))]).failure?.description == nil)
        #expect(try CatalogSchemaTests().accepts(Self.file(mapping)))
    }

    @Test("the schema rejects what the reader rejects", arguments: bad.indices)
    func schema(index: Int) throws {
        let row = Self.bad[index]
        #expect(try CatalogSchemaTests().accepts(Self.file(row.mapping)) == row.isBeyondSchema, "\(row.mapping)")
    }

    @Test("a catalogue has at most 32 mappings")
    func many() throws {
        let mappings = (1...33).map { "m\($0): {\(Self.start)}" }.joined(separator: ",")
        let faults = try #require(CatalogSet.load(files: [("a.json5", Self.file(mappings))]).failure)
        let isFound = faults.faults.contains { $0.pointer.text == "/from" && $0.message.contains("at most 32") }
        #expect(isFound)
    }
}
