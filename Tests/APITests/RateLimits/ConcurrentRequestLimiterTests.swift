import BellhopRules
import IntegrationSupport
import Store
import Testing

@testable import API

@Suite("Concurrent calls")
struct ConcurrentRequestLimiterTests {
    @Test("a user has a limited number of concurrent calls, and a finished call makes room for another")
    func underWay() async throws {
        let calls = ConcurrentRequestLimiter(most: 2)
        let ada = try recipient("ada")
        let bob = try recipient("bob")
        try await calls.run(ada) {
            try await calls.run(ada) {
                let more = try? await calls.run(ada) { true }
                #expect(more == nil)
                try await calls.run(bob) {}
            }
        }
        try await calls.run(ada) {}
    }

    private func recipient(_ user: String) throws -> UserKey {
        UserKey(app: try #require(AppID(validating: "drop")), user: try #require(UserID(validating: user)))
    }
}
