import BellhopRules
import IntegrationSupport
import Store
import Testing

@testable import Pipeline

@Suite("Texts in the user's language")
struct TranslationTests {
    private let catalogs: CatalogSet
    private let reader: Recipient

    init() throws {
        catalogs = try ServerFixture.shipped()
        var reader = Recipient()
        reader.locale = LanguageTag(validating: "nb")
        self.reader = reader
    }

    /// Returns the texts of a sale at a venue, under an id that other events have as well.
    private func words(at venue: String) throws -> NotificationText {
        let body =
            #"{"id":"1","app":"venues","eventType":"opportunity","to":{"user":"u"},"data":{"venue":"\#(venue)","offer":"-"}}"#
        let envelope = InboundEnvelope(body: Array(body.utf8), source: .elsewhere)
        guard case .event(let event) = try SubmissionParser(catalogs).parse(envelope).get() else {
            throw ServerFixtureError("no event")
        }
        return try RenderedEvent.read(event, catalogs, at: Timestamp(clamping: 0)).get().words(ContentHash(of: event))
    }

    @Test("events with the same id share no texts, and the texts of one message are made once")
    func sameID() throws {
        var translations = Translations()
        let (ada, bob) = (try words(at: "Ada"), try words(at: "Bob"))
        let first = translations.words(ada, for: reader)
        #expect(first.content.title == "Salg hos Ada")
        #expect(translations.words(ada, for: reader) === first)
        let second = translations.words(bob, for: reader)
        #expect(second.content.title == "Salg hos Bob")
    }

    @Test("a user with the app's default language does not restore another event's texts")
    func inBetween() throws {
        var translations = Translations()
        let (ada, bob) = (try words(at: "Ada"), try words(at: "Bob"))
        _ = translations.words(ada, for: reader)
        let own = translations.words(bob, for: Recipient())
        #expect(own === bob)
        #expect(translations.words(bob, for: reader).content.title == "Salg hos Bob")
    }
}
