import BellhopRules
import IntegrationSupport
import TestSupport
import Testing

@testable import Store

@Suite("Every store: stored events", .limitedConcurrency, .timeLimit(.ofTest))
struct EventPromises {
    private static let later = #","deliverAt":"2030-01-01T00:00:00Z""#

    @Test("an event is stored once, and the same id with other content is a conflict", arguments: StoreKind.available)
    func keeping(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let plan = try fixture.plan("e1", #"{"user":"u1"}"# + Self.later)
            #expect(try await fixture.store.keep([plan]) == [.kept])
            #expect(try await fixture.store.keep([plan]) == [.duplicate])
            let other = try fixture.plan("e1", #"{"user":"u1"}"# + Self.later + #","data":{"order":7}"#)
            #expect(try await fixture.store.keep([other]) == [.conflict])
            let copies = try fixture.plan("e2", #"{"user":"u1"}"# + Self.later)
            #expect(try await fixture.store.keep([copies, copies]) == [.kept, .duplicate])
        }
    }

    @Test("the same id for another audience is a conflict", arguments: StoreKind.available)
    func audiences(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let first = try fixture.plan("e1", #"{"topic":"venue:1"}"#)
            #expect(try await fixture.store.keep([first]) == [.kept])
            for audience in [#"{"topic":"venue:2"}"#, #"{"everyone":true}"#] {
                let event = try fixture.plan("e1", audience).event
                let plan = PlannedEvent(event: event, contentHash: first.contentHash, priority: .low, expiresAt: nil)
                #expect(try await fixture.store.keep([plan]) == [.conflict])
            }
            #expect(try await fixture.store.keep([first]) == [.duplicate])
        }
    }

    @Test(
        "an event whose cancellation arrived first is not stored, and one that is cancelled later is not expanded",
        arguments: StoreKind.available
    )
    func cancelling(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let plans = [
                try fixture.plan("e1", #"{"topic":"venue:1"}"#), try fixture.plan("e2", #"{"topic":"venue:1"}"#),
            ]
            let cancellations = plans.map { EventCancellation(app: $0.event.app, event: $0.event.id) }
            _ = try await fixture.store.cancel(Array(cancellations.prefix(1)))
            #expect(try await fixture.store.keep(plans) == [.cancelled, .kept])
            _ = try await fixture.store.cancel(cancellations)
            #expect(try await fixture.store.keep(plans) == [.cancelled, .cancelled])
            #expect(try await fixture.store.open(plans).allSatisfy(\.isEmpty))
        }
    }

    @Test("an event for users who are all erased is not stored", arguments: StoreKind.available)
    func erased(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            try await fixture.feed("gone", ("recipient.deleted", ""))
            let plans = [
                try fixture.plan("e1", #"{"user":"gone"}"# + Self.later),
                try fixture.plan("e2", #"{"users":["gone","here"]}"# + Self.later),
            ]
            #expect(try await fixture.store.keep(plans) == [.cancelled, .kept])
        }
    }
}
