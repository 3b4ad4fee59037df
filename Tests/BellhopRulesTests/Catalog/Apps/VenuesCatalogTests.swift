import BellhopRules
import Testing

@Suite("The catalogue of venues")
struct VenuesCatalogTests {
    private static let offer: JSONObject = ["venue": "Café Sør", "offer": "Two for one until six"]

    @Test("the types are opportunity and system")
    func types() throws {
        #expect(try Repository.catalog("venues").types.map(\.type.text) == ["opportunity", "system"])
    }

    @Test("an offer is in the user's language")
    func words() throws {
        let fields: JSONObject = ["data": .object(Self.offer), "venueId": "42"]
        let english = try AppEvents.rendered("venues", "opportunity", fields).get()
        #expect(english.title == "Café Sør starts a sale")
        #expect(english.body == "Two for one until six")
        for language in ["nb", "nb-NO"] {
            let norwegian = try AppEvents.rendered("venues", "opportunity", fields, language: language).get()
            #expect(norwegian.title == "Salg hos Café Sør")
        }
        #expect(try AppEvents.rendered("venues", "opportunity", fields, language: "de").get().title == english.title)
    }

    @Test(
        "a tap opens the venue if there is one, and otherwise the notifications",
        arguments: ["opportunity", "system"]
    )
    func links(type: String) throws {
        let words: JSONObject = ["title": "T", "body": "B"]
        var withVenue = words
        withVenue["venueId"] = "a/b?c"
        let there = try #require(try AppEvents.rendered("venues", type, withVenue).get().link)
        #expect(there.web == "/venues/a%2Fb%3Fc")
        #expect(there.mobile == "/venues/a%2Fb%3Fc")
        #expect(try AppEvents.rendered("venues", type, words).get().link?.web == "/notifications")
    }

    @Test("an event of a venue reaches its followers, and one without venue and audience is rejected")
    func audiences() throws {
        for type in ["opportunity", "system"] {
            let words: JSONObject = ["title": "T", "body": "B", "to": .null]
            var withVenue = words
            withVenue["venueId"] = "42"
            #expect(try AppEvents.event("venues", type, withVenue).audience.topic?.text == "venue:42")
            let rejection = try AppEvents.submission("venues", type, words).failure
            #expect(rejection?.reason == .missingAudience && rejection?.pointer.text == "/venueId")
        }
    }

    @Test("offers use the bulk lane, are pushed with a sound, expire after a day, and are not gathered")
    func policies() throws {
        let catalog = try Repository.catalog("venues")
        let offer = try #require(catalog.types.first)
        #expect(offer.priority.lane == .bulk)
        #expect(offer.pushByDefault && offer.hasSound && !offer.isGathered)
        #expect(offer.lifetime?.seconds == 86_400)
        #expect(catalog.digest == nil)
        #expect(PushProvider.allCases.filter(catalog.uses) == [.fcm])
    }
}
