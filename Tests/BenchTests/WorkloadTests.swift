import BellhopRules
import Pipeline
import Foundation
import ServiceRuntime
import Settings
import Store
import TestSupport
import Testing

@testable import Bench

@Suite("Workload of the benchmark")
struct WorkloadTests {
    private static let workload = Workload(seed: 7, events: 20_000, users: 10_000, utcHour: 13)

    @Test("the same seed gives the same users and events, and another seed gives others")
    func repeats() {
        let same = Workload(seed: 7, events: 20_000, users: 10_000, utcHour: 13)
        let other = Workload(seed: 8, events: 20_000, users: 10_000, utcHour: 13)
        #expect((0..<100).map(same.person) == (0..<100).map(Self.workload.person))
        #expect((0..<100).map(same.body(ofEvent:)) == (0..<100).map(Self.workload.body(ofEvent:)))
        #expect((0..<100).map(other.person) != (0..<100).map(Self.workload.person))
    }

    @Test("the shares are those of W1: 10 % push off, 10 % muted, 20 % quiet hours, 1.2 devices")
    func shares() {
        let traits = (0..<10_000).map(Self.workload.traits(of:))
        #expect((900...1_100).contains(traits.count { $0.hasPushOff }))
        #expect((900...1_100).contains(traits.count { $0.hasMutedTypes }))
        #expect((1_850...2_150).contains(traits.count { $0.hasQuietHours }))
        #expect((11_850...12_150).contains(traits.reduce(0) { $0 + $1.devices }))
    }

    @Test("every event is valid, about 300 bytes long, and gets its text from the template")
    func eventsAreValid() throws {
        let catalogs = try Self.catalogs()
        try Workload.verify(catalogs)
        for event in 0..<500 {
            let body = Array(Self.workload.body(ofEvent: event).utf8)
            #expect((230...370).contains(body.count))
            let parsed = SubmissionParser(catalogs).parse(InboundEnvelope(body: body, source: .elsewhere))
            guard case .success(.event(let read)) = parsed else {
                Issue.record("event \(event): \(parsed)")
                continue
            }
            #expect(read.id.text == Self.workload.id(ofEvent: event))
        }
    }

    @Test("the rules agree for every user with an expectation that is computed without them")
    func rulesAgree() throws {
        let catalogs = try Self.catalogs()
        let zones = ZoneLibrary(environment: [:])
        var pushes = 0
        for event in 0..<2_000 {
            let person = Self.workload.person(Self.workload.user(ofEvent: event))
            let catalog = try #require(catalogs.catalogs.first { $0.app.text == "drop" })
            let type = try #require(catalog.types.first { $0.type.text == Self.workload.type(ofEvent: event) })
            let facts = DecisionFacts(
                catalog: catalog,
                type: type,
                recipient: try Self.recipient(person),
                now: Timestamp(clamping: 13 * 3_600_000_000),
                zone: { zones[$0] }
            )
            pushes += Decision(facts).devices.count { $0.outcome == .send }
        }
        #expect(pushes == Workload(seed: 7, events: 2_000, users: 10_000, utcHour: 13).expectation().pushes)
    }

    @Test("every event has an outcome in the expectation")
    func expectationIsWhole() {
        let expected = Self.workload.expectation()
        #expect(expected.endings[.init(state: "delivered")] == expected.pushes)
        let suppressed = expected.endings.filter { $0.key.state == "suppressed" }.values.reduce(0, +)
        let pushed = (0..<20_000).count {
            let traits = Self.workload.traits(of: Self.workload.user(ofEvent: $0))
            return !traits.hasMutedTypes && !traits.hasPushOff
        }
        #expect(suppressed + pushed == 20_000)
    }

    @Test("in turn, every user has an event before any user has two", arguments: [1, 2, 999, 1_000])
    func goesInTurn(users: Int) {
        var workload = Workload(seed: 7, events: 3 * users, users: users, utcHour: 13)
        workload.isInTurn = true
        for turn in 0..<3 {
            let met = Set((turn * users..<(turn + 1) * users).map(workload.user(ofEvent:)))
            #expect(met == Set(0..<users))
        }
    }

    @Test("catalogues without the app are rejected with advice")
    func refusesOtherCatalogs() throws {
        let empty = try CatalogSet.load(files: []).get()
        #expect(throws: CommandFailure.self) { try Workload.verify(empty) }
    }

    private static func recipient(_ person: BenchmarkPerson) throws -> Recipient {
        var recipient = Recipient()
        recipient.pushEnabled = person.isPushEnabled
        let document = try JSONParser(limits: .event).parse(Array(person.preferences.utf8)).get()
        recipient.preferences = Preferences(try #require(document.object))
        recipient.devices = try person.tokens.map { token in
            Device(
                subscription: "s",
                token: try #require(DeviceToken(validating: token)),
                platform: .android,
                provider: .fcm
            )
        }
        return recipient
    }

    private static func catalogs() throws -> CatalogSet {
        let root = Checkout.root
        let bytes = [UInt8](try Data(contentsOf: root.appendingPathComponent("deploy/catalogs/drop.json5")))
        return try CatalogSet.load(files: [(name: "drop.json5", bytes: bytes)]).get()
    }
}
