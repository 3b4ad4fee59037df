import BellhopRules
import Push
import Testing
import Workbench

@testable import Pipeline

/// A count may read ten thousand rows of a user's inbox, and so is made only for users whose devices show the badge.
@Suite("Users whose unread notifications are counted, without servers")
struct BadgeSpineTests {
    /// Returns a fixture with a user on each platform; user and device have the platform's name.
    private static func ground(_ key: String) throws -> SpineGround {
        let ground = try SpineGround(
            catalogs: try Bench.shipped("drop", replacing: #"badgePlatforms: ["ios"],"#, with: key)
        )
        for platform in DevicePlatform.allCases {
            try ground.person(platform.rawValue, device: platform.rawValue, platform)
        }
        return ground
    }

    private static func counted(_ ground: SpineGround) -> [String] {
        ground.store.state.withLock { $0.counted.sorted() }
    }

    private static let everybody = DevicePlatform.allCases.map(\.rawValue)

    @Test("users with only Android, a browser or no device are not counted if the app does not request it")
    func unasked() async throws {
        let ground = try Self.ground("")
        #expect(await ground.take([ground.event("e", to: Self.everybody + ["nobody"])]) == [0])
        #expect(ground.provider.sent.sorted() == Self.everybody.sorted())
        #expect(Self.counted(ground) == ["ios"])
        #expect(ground.provider.numbers == ["ios": 1])
    }

    @Test("users of a platform that the app requests are counted and get the badge, and no other", arguments: everybody)
    func asked(platform: String) async throws {
        let ground = try Self.ground("badgePlatforms: ['\(platform)'],")
        for (event, number) in [("e", 1), ("f", 2)] {
            #expect(await ground.take([ground.event(event, to: Self.everybody)]) == [0])
            #expect(ground.provider.numbers == [platform: number])
        }
        #expect(ground.provider.sent.count == 6)
        #expect(Self.counted(ground) == [platform, platform])
    }

    @Test("a retry counts again, only for the platforms that the app requests")
    func again() async throws {
        let ground = try Self.ground("badgePlatforms: ['web'],")
        let busy = Verdict.retry(.unavailable, notBefore: .zero, scope: .message)
        ground.provider.answer([busy, busy, busy])
        await ground.take([ground.event("e", to: Self.everybody)])
        await ground.take(ground.resumes())
        #expect(ground.provider.sent.count == 6)
        #expect(Self.counted(ground) == ["web", "web"])
        #expect(ground.provider.numbers == ["web": 1])
    }

    @Test("a user on whom the look-up or the count fails does not stop the badge updates of the others")
    func damaged() async throws {
        let users = (0..<5).map { "u\($0)" }
        let failures: [@Sendable (inout MemoryStore.State, UserID) -> Void] = [
            { $0.damaged = [$1] }, { $0.uncountable = [$1] },
        ]
        for fail in failures {
            let ground = try SpineGround()
            for user in users { try ground.person(user, device: user, .ios) }
            let failing = try #require(UserID(validating: "u2"))
            ground.store.state.withLock { fail(&$0, failing) }
            #expect(await ground.take([try ground.readers(users)]) == [0])
            #expect(ground.takeGivenUp().isEmpty)
            #expect(ground.provider.sent.sorted() == ["u0", "u1", "u3", "u4"])
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
            let ground = try Self.ground(key)
            let readers = try ground.readers(Self.everybody)
            #expect(await ground.take([readers]) == [0])
            #expect(ground.provider.sent == told)
            #expect(Self.counted(ground) == told)
            #expect(ground.provider.numbers.values.allSatisfy { $0 == 0 })
        }
    }
}
