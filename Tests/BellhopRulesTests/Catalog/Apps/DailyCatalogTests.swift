import BellhopRules
import Testing

@Suite("The catalogue of daily")
struct DailyCatalogTests {
    @Test("the catalogue has one type, which ignores quiet hours, because the user chose the time")
    func type() throws {
        let types = try Repository.catalog("daily").types
        #expect(types.map(\.type.text) == ["daily_reminder"])
        let type = try #require(types.first)
        #expect(DevicePlatform.allCases.allSatisfy { type.quietHours[$0] == .bypass })
        #expect(type.lifetime?.seconds == 86_400)
        #expect(type.priority == .normal)
    }

    @Test("no push has a number for the icon, because the app has no inbox")
    func numbers() throws {
        #expect(try Repository.catalog("daily").badgePlatforms.isEmpty)
    }

    @Test("the texts are those of the reminder")
    func words() throws {
        let fields: JSONObject = ["title": "Water the plants", "body": ""]
        #expect(try AppEvents.rendered("daily", "daily_reminder", fields).get().title == "Water the plants")
        let rejection = try #require(try AppEvents.rendered("daily", "daily_reminder").failure)
        #expect(rejection.pointer.text == "/title")
    }

    @Test("the label exists in both languages, and every provider is used")
    func label() throws {
        let catalog = try Repository.catalog("daily")
        let labels = try #require(catalog.types.first).labels
        #expect(labels.count == 2)
        #expect(labels[try #require(LanguageTag(validating: "en"))] == "Daily Message")
        #expect(labels[try #require(LanguageTag(validating: "sv"))] == "Dagligt meddelande")
        #expect(PushProvider.allCases.allSatisfy(catalog.uses))
    }
}
