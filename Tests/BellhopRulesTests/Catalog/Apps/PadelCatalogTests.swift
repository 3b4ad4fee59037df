import BellhopRules
import Testing

@Suite("The catalogue of padel")
struct PadelCatalogTests {
    private func swedish() throws -> LanguageTag { try #require(LanguageTag(validating: "sv")) }

    @Test("labels and their order are those of the app's documentation")
    func labels() throws {
        let swedish = try swedish()
        let types = try Repository.catalog("padel").types
        #expect(
            types.map(\.type.text) == ["scheduled_match_new", "availability_poll_reminder", "admin_announcement"]
        )
        #expect(
            types.map { $0.labels[swedish] } == [
                "Ny schemalagd match", "Påminnelse om tillgänglighetspoll", "Adminmeddelanden",
            ]
        )
        #expect(types.allSatisfy { $0.pushByDefault && !$0.isMandatory })
    }

    @Test("the texts of the settings page are those of the app's documentation, and quiet hours are off, from 22 to 7")
    func settings() throws {
        let swedish = try swedish()
        let settings = try Repository.catalog("padel").settings
        #expect(settings.masterLabels == [swedish: "Tillåt notiser"])
        #expect(settings.quietHoursLabels == [swedish: "Aktivera tysta timmar"])
        let helper = "Tysta timmar pausar notiser mellan start och slut. Exempel: 22 till 07 stoppar nattnotiser."
        #expect(settings.quietHoursHelpers == [swedish: helper])
        #expect(settings.quietHours == .usual)
        #expect(settings.quietHours.enabled == false)
        #expect(settings.quietHours.startHour == 22)
        #expect(settings.quietHours.endHour == 7)
    }

    @Test("in quiet hours browsers get nothing and iPhones get the push later")
    func quietHours() throws {
        for type in try Repository.catalog("padel").types {
            #expect(type.quietHours[.web] == .drop)
            #expect(type.quietHours[.ios] == .defer)
        }
    }

    @Test("the payload of the app's documentation is accepted unchanged")
    func payload() throws {
        let fields: JSONObject = [
            "title": "Ny match i schemat", "body": "Tisdag 19:00 på PDL Center.", "route": "/schedule",
            "metadata": ["matchId": "uuid-or-string"], "sentAtIso": "2026-02-15T13:45:00.000Z",
        ]
        let rendered = try AppEvents.rendered("padel", "scheduled_match_new", fields).get()
        #expect(rendered.title == "Ny match i schemat")
        #expect(rendered.body == "Tisdag 19:00 på PDL Center.")
        #expect(rendered.link?.web == "/schedule")
        #expect(rendered.reroutedFrom == nil)
    }

    @Test("a match can be described by its data alone, and has the same texts")
    func template() throws {
        let data: JSONObject = ["when": "Tisdag 19:00", "place": "PDL Center"]
        let rendered = try AppEvents.rendered("padel", "scheduled_match_new", ["data": .object(data)]).get()
        #expect(rendered.title == "Ny match i schemat")
        #expect(rendered.body == "Tisdag 19:00 på PDL Center.")
    }

    @Test(
        "each type without a route opens its own page",
        arguments: [
            ("scheduled_match_new", "/schedule"), ("availability_poll_reminder", "/schedule"),
            ("admin_announcement", "/"),
        ]
    )
    func routes(type: String, route: String) throws {
        let rendered = try AppEvents.rendered("padel", type, ["title": "T", "body": "B"]).get()
        #expect(rendered.link?.web == route)
        #expect(rendered.link?.mobile == route)
        #expect(rendered.reroutedFrom == nil)
    }

    @Test("the route /schema is rewritten to /schedule, and the rewrite is noted")
    func schema() throws {
        let fields: JSONObject = ["title": "T", "body": "B", "route": "/schema?week=7"]
        let rendered = try AppEvents.rendered("padel", "scheduled_match_new", fields).get()
        #expect(rendered.link?.web == "/schedule?week=7")
        #expect(rendered.link?.mobile == "/schedule?week=7")
        #expect(rendered.reroutedFrom == "/schema")
    }

    @Test("no push has a number for the icon, because the clients have no inbox")
    func numbers() throws {
        #expect(try Repository.catalog("padel").badgePlatforms.isEmpty)
    }

    @Test("matches and announcements without an audience reach everyone, and a poll reminder is rejected")
    func audiences() throws {
        let words: JSONObject = ["title": "T", "body": "B", "to": .null]
        for type in ["scheduled_match_new", "admin_announcement"] {
            #expect(try AppEvents.event("padel", type, words).audience == .everyone)
        }
        let rejection = try AppEvents.submission("padel", "availability_poll_reminder", words).failure
        #expect(rejection?.reason == .missingAudience && rejection?.pointer.text == "/to")
    }

    @Test("iPhones are reached through Apple, browsers through Web Push")
    func providers() throws {
        #expect(try Repository.catalog("padel").providers == [.apns, .webpush])
    }
}
