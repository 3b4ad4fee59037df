import TestSupport
import Testing

@testable import BellhopRules

/// Compares the two ways to a notification's content: from the places of an event's fields, and from the event.
///
/// Rounds: BELLHOP_FUZZ_ROUNDS; seed: BELLHOP_FUZZ_SEED.
@Suite("Notifications of plain events")
struct PlainNotificationTests {
    private static let arrival = Timestamp(clamping: 1_800_000_000_000_000)

    @Test("an event is rendered, linked and hashed, and can be made again")
    func plain() throws {
        let body = """
            {"id":"e1","app":"drop","eventType":"transaction_complete","to":{"user":"ada"},"targetId":"tx/1",\
            "data":{"recipient":"Åse","amount":"2 000 kr","country":"PL","n":12.50,"ok":true},"metadata":{"b":"2","a":"1"},\
            "venueId":"42","collapseKey":"k","sentAtIso":"2026-02-15T13:45:00Z"}
            """
        let envelope = InboundEnvelope(body: Array(body.utf8), source: .elsewhere)
        let set = try Repository.drop()
        let plain = try #require(Self.notification(in: envelope, set))
        try Self.expectSame(plain, envelope, set)
        #expect(plain.content.texts[.event] == "e1")
        #expect(
            plain.content.texts[.data]
                == #"{"amount":"2 000 kr","country":"PL","n":12.50,"ok":true,"recipient":"Åse"}"#
        )
        #expect(plain.content.texts[.metadata] == #"{"a":"1","b":"2"}"#)
        #expect(plain.content.texts[.imageURL] == nil)
        #expect(plain.content.title == "Overføring til Åse fullført")
        #expect(plain.content.texts[.webLink] == "/transactions?id=tx%2F1")
    }

    @Test("an event that its template does not fit is declined")
    func declined() throws {
        let set = try Repository.drop()
        for members in [#""data":{}"#, #""data":{"amount":true}"#, #""title":"x","data":{"amount":""}"#] {
            let body = #"{"id":"e1","app":"drop","eventType":"transaction_complete","to":{"user":"ada"},\#(members)}"#
            let envelope = InboundEnvelope(body: Array(body.utf8), source: .elsewhere)
            #expect(Self.notification(in: envelope, set) == nil, "\(members)")
        }
    }

    @Test("every type of every app gives the same notification both ways, also after changes of the bytes")
    func sameBothWays() throws {
        var generator = SeededChance.announced("plain notifications")
        let set = try Repository.catalogs()
        let types = set.catalogs.flatMap { catalog in catalog.types.map { (catalog.app.text, $0) } }
        var count = 0
        let rounds = SeededChance.rounds(5_000)
        for _ in 0..<rounds {
            guard let (app, type) = types.randomElement(using: &generator) else { break }
            let envelope = PlainMessages.random(
                &generator,
                app: app,
                type: type.type.text,
                members: Self.members(of: type)
            )
            guard let plain = Self.notification(in: envelope, set) else { continue }
            count += 1
            try Self.expectSame(plain, envelope, set)
        }
        #expect(count > rounds / 10, "\(count) of \(rounds) were read")
    }

    private static func notification(in envelope: InboundEnvelope, _ set: CatalogSet) -> PlainNotification? {
        PlainEventReader(set).notification(in: envelope, at: arrival, hash: hash)
    }

    private static func hash(_ bytes: UnsafeBufferPointer<UInt8>) -> PlainNotification.Hash {
        PlainNotification.Hash(StableHash(of: bytes).value, UInt64(bytes.count))
    }

    /// Fails unless the event of the message gives the same notification.
    private static func expectSame(_ plain: PlainNotification, _ envelope: InboundEnvelope, _ set: CatalogSet) throws {
        let text = Comment(rawValue: String(decoding: envelope.body, as: UTF8.self))
        guard case .event(let event) = try SubmissionParser(set).parseTree(envelope).get() else {
            Issue.record("not an event: \(text)")
            return
        }
        let catalog = try #require(set[event.app])
        let type = try #require(catalog[event.type])
        let expected = NotificationContent(
            event: event,
            rendered: try catalog.render(event, language: nil).get(),
            priority: type.priority,
            expiresAt: type.expiry(of: event, arrival: arrival)
        )
        for field in NotificationTexts.Field.allCases {
            #expect(plain.content.texts[field] == expected.texts[field], text)
        }
        #expect(plain.content.type == expected.type, text)
        #expect(plain.content.priority == expected.priority, text)
        #expect(plain.content.expiresAt == expected.expiresAt, text)
        #expect(plain.content.sentAt == expected.sentAt, text)
        #expect(plain.type === type, text)
        #expect(plain.catalog === catalog, text)
        #expect(event.audience == .users([plain.user]), text)
        #expect(plain.contentHash == event.withContentBytes(hash), text)
        let again = Event(plain.origin, of: plain.content, in: catalog.app)
        #expect(again.plainForm() == event.plainForm(), text)
        #expect(again.data == event.data, text)
        #expect(again.withContentBytes(hash) == plain.contentHash, text)
    }

    /// Returns the members of an event's data that the type's texts and link name.
    private static func members(of type: CatalogType) -> [String] {
        let texts = type.words.all.flatMap { [$0.title, $0.body].compactMap { $0 } }
        let links = type.link.map { [$0.web, $0.mobile, $0.scheme].compactMap { $0 } } ?? []
        let names = (texts + links).flatMap(\.segments).compactMap { segment -> String? in
            switch segment {
            case .gap(.data(let path)), .short(.data(let path)), .number(.data(let path), _): path[0]
            case .units(let gap): if case .data(let path) = gap.source { path[0] } else { nil }
            case .plural(let gap): if case .data(let path) = gap.source { path[0] } else { nil }
            case .select(let gap): if case .data(let path) = gap.source { path[0] } else { nil }
            default: nil
            }
        }
        return Set(names).sorted()
    }
}
