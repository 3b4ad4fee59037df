import BellhopRules
import TestSupport
import Testing

@Suite("Random preferences")
struct PreferencePropertyTests {
    @Test("any JSON becomes a canonical document, which is stable, and a lazy reader returns the same values")
    func properties() throws {
        let schema = try PreferenceTests.schema()
        var json = RandomJSON(generator: .announced("preferences of any shape"))
        var repaired = 0
        for _ in 0..<SeededChance.rounds(4_000) {
            let source = Self.document(schema, &json)
            let document = PreferenceDocument(normalizing: source, schema: schema)
            let again = PreferenceDocument(normalizing: .object(document.json), schema: schema)
            #expect(again.json == document.json)
            #expect(!again.wasRepaired)
            let variants = [source, Self.withoutEmpty(source)]
            #expect(document.wasRepaired == !variants.contains(.object(document.json)))
            #expect(document.toggles.map(\.type) == schema.toggles.map(\.type))
            #expect((0...23).contains(document.quietHours.startHour) && (0...23).contains(document.quietHours.endHour))
            if let object = source.object { Self.expectSame(Preferences(object), document, schema) }
            repaired += document.wasRepaired ? 1 : 0
        }
        #expect(repaired > 0)
    }

    private static func expectSame(_ lazy: Preferences, _ document: PreferenceDocument, _ schema: PreferenceSchema) {
        #expect(lazy.enabled == document.enabled)
        #expect(lazy.quietHours(otherwise: schema.quietHours) == document.quietHours)
        #expect(lazy.pausedUntil == document.pausedUntil)
        for (toggle, normal) in zip(schema.toggles, document.toggles) {
            let choice = document.emailToggles.first { $0.type == toggle.type }?.isOn
            let usual = lazy.wants(toggle.type)
            #expect(lazy.wantsByEmail(toggle.type) == choice ?? usual)
            #expect((lazy.wants(toggle.type) ?? toggle.isOnByDefault) == normal.isOn)
        }
    }

    /// Returns any JSON in one of five cases, and otherwise the known keys with values that are mostly valid.
    private static func document(_ schema: PreferenceSchema, _ json: inout RandomJSON) -> JSONValue {
        if Int.random(in: 0..<5, using: &json.generator) == 0 { return json.value() }
        var toggles = JSONObject()
        for toggle in schema.toggles { set(toggle.type.text, in: &toggles, flag(&json), &json) }
        var hours = JSONObject()
        set("enabled", in: &hours, flag(&json), &json)
        for key in ["startHour", "endHour"] {
            set(key, in: &hours, .number(JSONNumber(Int64.random(in: -3...27, using: &json.generator))), &json)
        }
        var document = JSONObject()
        set("enabled", in: &document, flag(&json), &json)
        set("eventToggles", in: &document, .object(toggles), &json)
        set("quietHours", in: &document, .object(hours), &json)
        if Bool.random(using: &json.generator) { set("emailToggles", in: &document, .object(toggles), &json) }
        if Bool.random(using: &json.generator) {
            set("pausedUntil", in: &document, "2026-03-10T13:00:00.000Z", &json)
        }
        return .object(document)
    }

    /// Returns the document without members that are removed by null or an empty object, which is not a repair.
    private static func withoutEmpty(_ source: JSONValue) -> JSONValue {
        guard var document = source.object else { return source }
        if document["pausedUntil"] == .null { document["pausedUntil"] = nil }
        let toggles = document["emailToggles"]
        if toggles == .null || toggles?.object?.isEmpty == true { document["emailToggles"] = nil }
        return .object(document)
    }

    private static func flag(_ json: inout RandomJSON) -> JSONValue {
        .bool(Bool.random(using: &json.generator))
    }

    private static func set(_ key: String, in object: inout JSONObject, _ usual: JSONValue, _ json: inout RandomJSON) {
        switch Int.random(in: 0..<12, using: &json.generator) {
        case 0: break
        case 1: object[key] = json.value(depth: 3)
        case 2:
            object[key] = usual
            object[json.string()] = json.value(depth: 4)
        default: object[key] = usual
        }
    }
}
