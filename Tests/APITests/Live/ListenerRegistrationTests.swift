import IntegrationSupport
import ServiceRuntime
import Store
import TestSupport
import Testing

@testable import API

@Suite(
    "Presence of stream listeners",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil),
    .timeLimit(.ofTest)
)
struct ListenerRegistrationTests {
    @Test("after a lapse of the presence every stream is checked again, as at the start")
    func lapse() async throws {
        try await ServerFixture.withSchema { servers in
            let book = ListenerStore(pool: servers.owner, namespace: servers.namespace)
            let presence = ListenerRegistration(book: book, process: 7, pace: StreamIntervals())
            let start = ContinuousClock.now
            for second in stride(from: 0, through: 20, by: 10) {
                try await presence.keep(isNeeded: true, at: { start + .seconds(second) })
            }
            #expect(presence.isSettling(at: start + .seconds(3)))
            #expect(!presence.isSettling(at: start + .seconds(21)))
            // The database was unavailable.
            try await presence.keep(isNeeded: true, at: { start + .seconds(50) })
            #expect(presence.isSettling(at: start + .seconds(52)))
            #expect(!presence.isSettling(at: start + .seconds(54)))
        }
    }

    @Test("a presence that the database stores late counts from the write's end, and every stream is checked")
    func slowDatabase() async throws {
        try await ServerFixture.withSchema { servers in
            let book = ListenerStore(pool: servers.owner, namespace: servers.namespace)
            let presence = ListenerRegistration(book: book, process: 7, pace: StreamIntervals())
            let start = ContinuousClock.now
            var seconds = 0
            try await presence.keep(isNeeded: true) {
                defer { seconds += 20 }
                return start + .seconds(seconds)
            }
            #expect(presence.isSettling(at: start + .seconds(22)))
            #expect(!presence.isSettling(at: start + .seconds(24)))
        }
    }
}
