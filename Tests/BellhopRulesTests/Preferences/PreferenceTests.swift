import BellhopRules
import Testing

@Suite("Preferences")
struct PreferenceTests {
    /// Returns the types of the club's app, with one that is off until the user enables it.
    static func schema() throws -> PreferenceSchema {
        let types = ["scheduled_match_new", "availability_poll_reminder", "admin_announcement"]
        let toggles = try types.map { PreferenceSchema.Toggle(try #require(EventType(validating: $0))) }
        let promotional = PreferenceSchema.Toggle(
            try #require(EventType(validating: "promotional")),
            isOnByDefault: false
        )
        return PreferenceSchema(toggles: toggles + [promotional])
    }

    static func parse(_ text: String) throws -> JSONValue {
        try JSONParser(limits: .event).parse(Array(text.utf8)).get()
    }

    private static func normalized(_ text: String) throws -> PreferenceDocument {
        PreferenceDocument(normalizing: try parse(text), schema: try schema())
    }

    private static let canonical = """
        {"enabled":true,"eventToggles":{"scheduled_match_new":true,"availability_poll_reminder":true,\
        "admin_announcement":true,"promotional":false},"quietHours":{"enabled":false,"startHour":22,"endHour":7}}
        """

    @Test("the defaults apply without a document, and nothing is repaired")
    func missing() throws {
        let document = PreferenceDocument(normalizing: nil, schema: try Self.schema())
        #expect(try .object(document.json) == Self.parse(Self.canonical))
        #expect(!document.wasRepaired)
    }

    @Test("the canonical form has the app's order, whatever the source's order, and a change of order is not a repair")
    func order() throws {
        let shuffled = """
            {"quietHours":{"endHour":7,"startHour":22,"enabled":false},"eventToggles":{"promotional":false,\
            "admin_announcement":true,"availability_poll_reminder":true,"scheduled_match_new":true},"enabled":true}
            """
        let document = try Self.normalized(shuffled)
        #expect(!document.wasRepaired)
        #expect(document.json.members.map(\.key) == ["enabled", "eventToggles", "quietHours"])
        #expect(
            document.json["eventToggles"]?.object?.members.map(\.key) == [
                "scheduled_match_new", "availability_poll_reminder", "admin_announcement", "promotional",
            ]
        )
        #expect(document.json["quietHours"]?.object?.members.map(\.key) == ["enabled", "startHour", "endHour"])
    }

    @Test(
        "a malformed, mistyped or missing value becomes the default, and counts as a repair",
        arguments: [
            "null", "[]", "\"on\"", "7", "true", "{}", #"{"enabled":true}"#, #"{"enabled":null}"#,
            #"{"enabled":"false"}"#,
            #"{"enabled":0}"#, #"{"eventToggles":[true]}"#, #"{"eventToggles":{"promotional":1}}"#,
            #"{"quietHours":true}"#, #"{"quietHours":{"enabled":"yes","startHour":"22","endHour":null}}"#,
            #"{"theme":"dark"}"#,
        ]
    )
    func repaired(text: String) throws {
        let document = try Self.normalized(text)
        #expect(try .object(document.json) == Self.parse(Self.canonical))
        #expect(document.wasRepaired)
    }

    @Test("the user's choices are kept, and keys that the app does not have are removed")
    func kept() throws {
        let document = try Self.normalized(
            """
            {"enabled":false,"eventToggles":{"promotional":true,"scheduled_match_new":false,"retired_type":true},
             "quietHours":{"enabled":true,"startHour":0,"endHour":23,"zone":"Mars"},"version":2}
            """
        )
        #expect(!document.enabled)
        #expect(document.toggles.map(\.isOn) == [false, true, true, true])
        #expect(document.quietHours == QuietHours(enabled: true, startHour: 0, endHour: 23))
        #expect(document.json["eventToggles"]?["retired_type"] == nil)
        #expect(document.json["version"] == nil)
        #expect(document.json["quietHours"]?["zone"] == nil)
        #expect(document.wasRepaired)
    }

    @Test(
        "an hour loses its fraction and is moved into the day, and any other value becomes the default",
        arguments: [
            ("0", 0), ("23", 23), ("7.0", 7), ("1.5", 1), ("7.999", 7), ("-0.5", 0), ("-3", 0), ("-1e400", 0),
            ("24", 23),
            ("23.5", 23), ("1e1", 10), ("1e-400", 0), ("1e400", 23), ("99999999999999999999", 23),
            ("\"7\"", 22), ("true", 22), ("null", 22), ("[7]", 22), ("{}", 22),
        ]
    )
    func hours(text: String, hour: Int) throws {
        let document = try Self.normalized(#"{"quietHours":{"startHour":\#(text)}}"#)
        #expect(document.quietHours.startHour == hour)
        #expect(document.json["quietHours"]?["startHour"] == .number(JSONNumber(Int64(hour))))
        let end = try Self.normalized(#"{"quietHours":{"endHour":\#(text)}}"#)
        #expect(end.quietHours.endHour == (hour == 22 ? 7 : hour))
    }

    @Test("an app may have other defaults, and a type that is given twice counts once")
    func otherDefaults() throws {
        let type = try #require(EventType(validating: "security"))
        let schema = PreferenceSchema(
            toggles: [.init(type, isOnByDefault: false), .init(type)],
            quietHours: QuietHours(enabled: true, startHour: 23, endHour: 6)
        )
        let document = PreferenceDocument(normalizing: ["quietHours": ["startHour": 21]], schema: schema)
        #expect(document.toggles == [PreferenceDocument(normalizing: nil, schema: schema).toggles[0]])
        #expect(!document.toggles[0].isOn)
        #expect(document.quietHours == QuietHours(enabled: true, startHour: 21, endHour: 6))
    }

    /// 2026-03-10 12:00 UTC.
    private static let now = Timestamp(clamping: 1_773_144_000_000_000)

    private static func now(_ members: String) throws -> PreferenceDocument {
        PreferenceDocument(
            normalizing: try parse(canonical.dropLast() + members + "}"),
            schema: try schema(),
            now: now
        )
    }

    @Test(
        "the end of a pause is an instant at most 30 days ahead, and anything else is not a pause",
        arguments: [
            (#""2026-03-10T13:00:00Z""#, "2026-03-10T13:00:00.000Z", false),
            (#""2026-03-10T14:00:00.000+01:00""#, "2026-03-10T13:00:00.000Z", false),
            (#""2026-04-09T12:00:00Z""#, "2026-04-09T12:00:00.000Z", false),
            (#""2026-04-09T12:00:00.001Z""#, "2026-04-09T12:00:00.000Z", true),
            (#""9999-01-01T00:00:00Z""#, "2026-04-09T12:00:00.000Z", true),
            (#""2026-03-10T12:00:00Z""#, nil, false), (#""2020-01-01T00:00:00Z""#, nil, false), ("null", nil, false),
            (#""tomorrow""#, nil, true), (#""2026-02-30T00:00:00Z""#, nil, true), ("1773144000", nil, true),
            ("true", nil, true), ("{}", nil, true),
        ] as [(String, String?, Bool)]
    )
    func pauses(text: String, end: String?, isRepaired: Bool) throws {
        let document = try Self.now(#","pausedUntil":\#(text)"#)
        #expect(document.pausedUntil?.description == end)
        #expect(document.json["pausedUntil"]?.string == end)
        #expect(document.wasRepaired == isRepaired)
    }

    @Test("without the present instant, a pause is kept as it is")
    func pauseOfAnyTime() throws {
        let source = try Self.parse(#"{"pausedUntil":"2020-01-01T00:00:00Z"}"#)
        let document = PreferenceDocument(normalizing: source, schema: try Self.schema())
        #expect(document.json["pausedUntil"] == "2020-01-01T00:00:00.000Z")
        let again = PreferenceDocument(normalizing: .object(document.json), schema: try Self.schema())
        #expect(again.json == document.json && !again.wasRepaired)
    }

    @Test("choices for e-mail are kept for the app's types in its order, and the member is absent without a choice")
    func emailChoices() throws {
        let some = #","emailToggles":{"promotional":true,"scheduled_match_new":false}"#
        let document = try Self.now(some)
        let choices = document.json["emailToggles"]?.object?.members.map { "\($0.key) \($0.value)" }
        #expect(choices?.count == 2 && document.emailToggles.map(\.isOn) == [false, true])
        #expect(!document.wasRepaired)
        #expect(try Self.now(#","emailToggles":{"retired":true,"promotional":true}"#).wasRepaired)
        for text in ["{}", "null"] {
            let none = try Self.now(#","emailToggles":\#(text)"#)
            #expect(none.json["emailToggles"] == nil && !none.wasRepaired)
        }
        let broken = try Self.now(#","emailToggles":{"promotional":1}"#)
        #expect(broken.json["emailToggles"] == nil && broken.wasRepaired)
    }

    @Test("a user without a document has mails of types that are mailed and not pushed by default")
    func mailedOnly() throws {
        let (letter, order) = (EventType(validating: "letter"), EventType(validating: "order"))
        let schema = PreferenceSchema(toggles: [
            .init(try #require(letter), isOnByDefault: false, isMailedByDefault: true),
            .init(try #require(order), isMailedByDefault: true),
        ])
        #expect(PreferenceDocument(normalizing: nil, schema: schema).json["emailToggles"] == ["letter": true])
        #expect(PreferenceDocument(normalizing: [:], schema: schema).json["emailToggles"] == nil)
    }
}
