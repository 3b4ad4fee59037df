import BellhopRules
import Push
import Testing
import Workbench

@testable import Pipeline

/// Counting reads ten thousand rows of a user's inbox, which is for those alone whose devices show the number.
@Suite("For whom the unread are counted, without servers")
struct BadgeSpineTests {
    /// With a user on each platform, who is called like it, as is the device.
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

    @Test("who has Android alone, or a browser, costs no count where the app does not ask for it, nor who has nothing")
    func unasked() async throws {
        let ground = try Self.ground("")
        #expect(await ground.take([ground.event("e", to: Self.everybody + ["nobody"])]) == [0])
        #expect(ground.provider.sent.sorted() == Self.everybody.sorted())
        #expect(Self.counted(ground) == ["ios"])
        #expect(ground.provider.numbers == ["ios": 1])
    }

    @Test("where the app asks for a platform, its users are counted for and told, and no others", arguments: everybody)
    func asked(platform: String) async throws {
        let ground = try Self.ground("badgePlatforms: ['\(platform)'],")
        for (event, number) in [("e", 1), ("f", 2)] {
            #expect(await ground.take([ground.event(event, to: Self.everybody)]) == [0])
            #expect(ground.provider.numbers == [platform: number])
        }
        #expect(ground.provider.sent.count == 6)
        #expect(Self.counted(ground) == [platform, platform])
    }

    @Test("what is sent again is counted anew, for the platforms that the app asks for alone")
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

    @Test("after a read those are told who can be in silence, where the app asks for it; no others are counted for")
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
