import BellhopRules
import TestSupport
import Testing

/// Any input gives a result, without a crash.
///
/// Rounds: BELLHOP_FUZZ_ROUNDS; seed: BELLHOP_FUZZ_SEED.
@Suite("Random messages")
struct FuzzTests {
    private static let seed = """
        {"id":"evt_01J","app":"drop","eventType":"security","to":{"users":["u1","u2"]},
         "title":"Tittel \\u00e5 \\ud83d\\ude00",
         "data":{"n":[1,-2.5e3,{"a":null}],"t":true},"metadata":{"k":"v"},"imageUrl":"https://a/b","route":"/x",
         "sentAtIso":"2026-02-15T13:45:00.000Z","deliverAt":"2026-02-16T13:45:00+01:00","specversion":"1.0"}
        """

    /// Fails unless the result is consistent: a rejection that can be shown, or content bytes that read back.
    private func check(_ envelope: InboundEnvelope, _ parser: SubmissionParser, _ set: CatalogSet) throws {
        switch parser.parse(envelope) {
        case .failure(let rejection):
            #expect(!rejection.message.isEmpty)
            #expect(rejection.message.utf8.count < 400)
            #expect(rejection.pointer.text.utf8.count <= 255)
            #expect(!rejection.pointer.text.utf8.contains(0))
        case .success(.event(let event)):
            let bytes = event.withContentBytes { Array($0) }
            let limits = JSONParser.Limits(bytes: .max, depth: 64)
            #expect(JSONParser(limits: limits).parse(bytes).failure == nil)
            #expect(!bytes.contains(0))
            let catalog = try #require(set[event.app])
            _ = catalog.render(event, language: nil)
        case .success(.feed(let update)): #expect(!update.change.user.text.isEmpty)
        case .success(.cancellation(_, let id)): #expect(!id.text.isEmpty)
        case .success(.ignored(_, let mapping)): #expect(!mapping.text.isEmpty)
        }
    }

    private func envelope(_ body: [UInt8], _ generator: inout SeededChance) -> InboundEnvelope {
        var random = RandomJSON(generator: generator)
        let keys = ["drop.security", "drop.recipient.upserted", "drop.event.cancelled", "", ".", random.string()]
        let values: [HeaderValue] = [.string("1.0"), .string(random.string()), .integer(.min), .other]
        generator = random.generator
        let isRouted = Bool.random(using: &generator)
        let key = keys.randomElement(using: &generator) ?? ""
        var envelope = InboundEnvelope(body: body, source: isRouted ? .eventsExchange(routingKey: key) : .elsewhere)
        let types = [nil, "application/json", "application/cloudevents+json", "application/cloudevents+json;", "\0;;"]
        envelope.contentType = types.randomElement(using: &generator) ?? nil
        envelope.messageID =
            [nil, "m", "\0", String(repeating: "x", count: 300)].randomElement(using: &generator) ?? nil
        envelope.timestamp = [nil, 0, 1, .max].randomElement(using: &generator) ?? nil
        let names = ["ce-id", "cloudEvents:type", "cloudEvents_source", "ce-specversion", "traceparent", "ce-", ""]
        for _ in 0..<Int.random(in: 0..<5, using: &generator) {
            guard let name = names.randomElement(using: &generator), let value = values.randomElement(using: &generator)
            else { continue }
            envelope.headers.append((name, value))
        }
        return envelope
    }

    @Test("random bytes give a consistent result")
    func randomBytes() throws {
        var generator = SeededChance.announced("random bytes")
        let set = try Repository.drop()
        let parser = SubmissionParser(set)
        for _ in 0..<SeededChance.rounds(2000) {
            let alphabet = Bool.random(using: &generator) ? Array("{}[]\",:\\u0123456789abcdeftrunl-+.E \n".utf8) : []
            let body = (0..<Int.random(in: 0..<200, using: &generator)).map { _ in
                alphabet.randomElement(using: &generator) ?? UInt8.random(in: 0...255, using: &generator)
            }
            try check(envelope(body, &generator), parser, set)
        }
    }

    @Test("random JSON gives a consistent result")
    func randomJSON() throws {
        var generator = SeededChance.announced("random JSON")
        let set = try Repository.drop()
        let parser = SubmissionParser(set)
        for _ in 0..<SeededChance.rounds(500) {
            var random = RandomJSON(generator: generator)
            var object = random.object()
            for field in EventField.allCases where Bool.random(using: &random.generator) {
                object[field.rawValue] = random.value(depth: 3)
            }
            generator = random.generator
            try check(envelope(JSONWriter.canonicalBytes(of: .object(object)), &generator), parser, set)
        }
    }

    @Test("a valid event with changed, removed and repeated bytes gives a consistent result")
    func mutations() throws {
        var generator = SeededChance.announced("mutated events")
        let set = try Repository.drop()
        let parser = SubmissionParser(set)
        let valid = Array(Self.seed.utf8)
        #expect(parser.parse(InboundEnvelope(body: valid, source: .elsewhere)).failure == nil)
        for _ in 0..<SeededChance.rounds(3000) {
            var body = valid
            for _ in 0..<Int.random(in: 1...3, using: &generator) where !body.isEmpty {
                let place = Int.random(in: 0..<body.count, using: &generator)
                switch Int.random(in: 0..<4, using: &generator) {
                case 0: body[place] = UInt8.random(in: 0...255, using: &generator)
                case 1: body.remove(at: place)
                case 2: body.insert(contentsOf: body[place..<min(place + 9, body.count)], at: place)
                default: body.removeSubrange(place...)
                }
            }
            try check(envelope(body, &generator), parser, set)
        }
    }
}
