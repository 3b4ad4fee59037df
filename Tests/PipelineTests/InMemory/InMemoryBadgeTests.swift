import BellhopRules
import IntegrationSupport
import Push
import Store
import Testing

@testable import Pipeline

/// A count may read ten thousand rows of a user's inbox, and so is made only for users whose devices show the badge.
@Suite("Users whose unread notifications are counted, without servers")
struct InMemoryBadgeTests {
    /// Returns a fixture with a user on each platform; user and device have the platform's name.
    private static func fixture(_ key: String) throws -> InMemoryFixture {
        let fixture = try InMemoryFixture(
            catalogs: try ServerFixture.shipped("drop", replacing: #"badgePlatforms: ["ios"],"#, with: key)
        )
        for platform in DevicePlatform.allCases {
            try fixture.person(platform.rawValue, device: platform.rawValue, platform)
        }
        return fixture
    }

    private static func counted(_ fixture: InMemoryFixture) -> [String] {
        fixture.store.state.withLock { $0.counted.sorted() }
    }

    private static let everybody = DevicePlatform.allCases.map(\.rawValue)

    @Test("users with only Android, a browser or no device are not counted if the app does not request it")
    func unasked() async throws {
        let fixture = try Self.fixture("")
        #expect(await fixture.take([fixture.event("e", to: Self.everybody + ["nobody"])]) == [0])
        #expect(fixture.provider.sent.sorted() == Self.everybody.sorted())
        #expect(Self.counted(fixture) == ["ios"])
        #expect(fixture.provider.numbers == ["ios": 1])
    }

    @Test("users of a platform that the app requests are counted and get the badge, and no other", arguments: everybody)
    func asked(platform: String) async throws {
        let fixture = try Self.fixture("badgePlatforms: ['\(platform)'],")
        for (event, number) in [("e", 1), ("f", 2)] {
            #expect(await fixture.take([fixture.event(event, to: Self.everybody)]) == [0])
            #expect(fixture.provider.numbers == [platform: number])
        }
        #expect(fixture.provider.sent.count == 6)
        #expect(Self.counted(fixture) == [platform, platform])
    }

    @Test("a suppressed notification does not raise the badge of a later one, in the same batch or afterwards")
    func suppressed() async throws {
        let fixture = try Self.fixture("")
        let key = UserKey(
            app: try #require(AppID(validating: "drop")),
            user: try #require(UserID(validating: "ios"))
        )
        fixture.store.state.withLock {
            $0.people[key]?.preferences = Preferences(["eventToggles": ["qr_payment": false]])
        }
        let muted = ["m1", "m2"].map { fixture.event($0, to: ["ios"], type: "qr_payment") }
        await fixture.take(muted + [fixture.event("e1", to: ["ios"])])
        #expect(fixture.provider.numbers == ["ios": 1])
        await fixture.take([fixture.event("m3", to: ["ios"], type: "qr_payment")])
        await fixture.take([fixture.event("e2", to: ["ios"])])
        #expect(fixture.provider.numbers == ["ios": 2])
    }

    @Test("a retry counts again, only for the platforms that the app requests")
    func again() async throws {
        let fixture = try Self.fixture("badgePlatforms: ['web'],")
        let busy = Verdict.retry(.unavailable, notBefore: .zero, scope: .message)
        fixture.provider.answer([busy, busy, busy])
        await fixture.take([fixture.event("e", to: Self.everybody)])
        await fixture.take(fixture.resumes())
        #expect(fixture.provider.sent.count == 6)
        #expect(Self.counted(fixture) == ["web", "web"])
        #expect(fixture.provider.numbers == ["web": 1])
    }

    @Test("a user on whom the look-up or the count fails does not stop the badge updates of the others")
    func damaged() async throws {
        let users = (0..<5).map { "u\($0)" }
        let failures: [@Sendable (inout MemoryStore.State, UserID) -> Void] = [
            { $0.damaged = [$1] }, { $0.uncountable = [$1] },
        ]
        for fail in failures {
            let fixture = try InMemoryFixture()
            for user in users { try fixture.person(user, device: user, .ios) }
            let failing = try #require(UserID(validating: "u2"))
            fixture.store.state.withLock { fail(&$0, failing) }
            #expect(await fixture.take([try fixture.readers(users)]) == [0])
            #expect(fixture.takeGivenUp().isEmpty)
            #expect(fixture.provider.sent.sorted() == ["u0", "u1", "u3", "u4"])
        }
    }

    @Test("after a read, users of requested platforms with silent updates are counted and get one, and no others")
    func afterRead() async throws {
        let cases: [(key: String, told: [String])] = [
            ("", ["ios"]),
            ("badgePlatforms: ['android', 'web'],", ["android"]),
            ("badgePlatforms: ['web'],", []),
        ]
        for (key, told) in cases {
            let fixture = try Self.fixture(key)
            let readers = try fixture.readers(Self.everybody)
            #expect(await fixture.take([readers]) == [0])
            #expect(fixture.provider.sent == told)
            #expect(Self.counted(fixture) == told)
            #expect(fixture.provider.numbers.values.allSatisfy { $0 == 0 })
        }
    }
}
