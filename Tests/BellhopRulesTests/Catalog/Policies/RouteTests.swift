import Testing

@testable import BellhopRules

@Suite("Routes and topics")
struct RouteTests {
    private func load(_ app: String) throws -> Catalog {
        let text = """
            {app: "a", language: "en", timezone: "UTC", \(app), types: {t: {priority: "low", label: {en: "T"}}}}
            """
        return try #require(try CatalogSet.load(files: [("a.json5", Array(text.utf8))]).get().catalogs.first)
    }

    @Test(
        "the path and everything below it are rewritten, and nothing else",
        arguments: [
            ("/schema", "/schedule"), ("/schema/", "/schedule/"), ("/schema/7?a=%2F#x", "/schedule/7?a=%2F#x"),
            ("/schema?x", "/schedule?x"), ("/schema#x", "/schedule#x"), ("/schemata", nil), ("/Schema", nil),
            ("schema", nil), ("/a/schema", nil), ("/", nil), ("/old/deep", "/deep"), ("/old", "/new"),
            ("/old/other", "/new/other"), ("/schema\u{301}", nil),
        ] as [(String, String?)]
    )
    func successor(route: String, expected: String?) throws {
        let routes = try load(#"routes: {"/schema": "/schedule", "/old": "/new", "/old/deep": "/deep"}"#).routes
        #expect(routes.rewritten(route)?.route == expected)
    }

    @Test("the counted name of a rewrite is the catalogue's path, without the rest of the route")
    func old() throws {
        let routes = try load(#"routes: {"/schema": "/schedule", "/old": "/new", "/old/deep": "/deep"}"#).routes
        #expect(routes.rewritten("/schema/7?a=1")?.old == "/schema")
        #expect(routes.rewritten("/old/deep/9")?.old == "/old/deep")
    }

    @Test("every route is unchanged without rewrites")
    func none() throws {
        #expect(try load("link: {web: '/', mobile: '/'}").routes.rewritten("/schema") == nil)
    }

    @Test("the topic of a venue contains its id")
    func venue() throws {
        let topics = try load(#"topics: {venueId: "venue"}"#).topics
        for (topic, expected) in [("venue:42", "42"), ("venue:a:b", "a:b"), ("venue:", nil), ("venues:1", nil)] {
            #expect(topics.venueID(of: try #require(Topic(validating: topic))) == expected)
        }
    }

    @Test("a topic's kind is the part before its first colon")
    func folding() throws {
        let topics = try load(#"topics: {foldCase: ["Safe", "Ås"]}"#).topics
        let table = [
            ("safe:1:0xAB", "safe:1:0xab"), ("SAFE:A", "safe:a"), ("safe", "safe"), ("Safe", "safe"),
            ("safeA:X", "safeA:X"), ("venue:SAFE:A", "venue:SAFE:A"), ("safe:ÅÄ", "safe:ÅÄ"), (":SAFE", ":SAFE"),
            ("ÅS:A", "Ås:a"), ("ås:A", "ås:A"),
        ]
        for (given, expected) in table {
            let topic = try #require(Topic(validating: given))
            #expect(topics.canonical(topic).text == expected)
        }
    }
}
