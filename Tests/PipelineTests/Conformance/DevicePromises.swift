import BellhopRules
import IntegrationSupport
import TestSupport
import Testing

@testable import Store

@Suite("Every store: devices", .limitedConcurrency, .timeLimit(.ofTest))
struct DevicePromises {
    private static func dead(_ user: String, _ device: Device, since: String = "2026-03-01T13:00:00Z") throws
        -> DeadDevice
    {
        DeadDevice(
            recipient: try StoreFixture.user(user),
            subscription: device.subscription,
            token: device.token,
            reason: "UNREGISTERED",
            deadSince: try #require(Timestamp(validating: since))
        )
    }

    private static func outlet() throws -> BreakerKey {
        BreakerKey(app: try #require(AppID(validating: "drop")), provider: "fcm")
    }

    @Test(
        "an answer revokes a device once, unless the device was registered later or has another token",
        arguments: StoreKind.available
    )
    func revoking(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let device = try await fixture.register("u1", token: "t1")
            var rotated = device
            rotated.token = try #require(DeviceToken(validating: "t2"))
            let answers = [
                try Self.dead("u1", device, since: "2026-03-01T11:59:59Z"), try Self.dead("u1", rotated),
                try Self.dead("u2", device), try Self.dead("u1", device), try Self.dead("u1", device),
            ]
            var counts: [Int] = []
            for answer in answers { counts.append(try await fixture.store.revoke([answer])) }
            #expect(counts == [0, 0, 0, 1, 0])
            #expect(try await fixture.devices("u1").isEmpty)
        }
    }

    @Test(
        "no device of a provider is revoked during its mass failure, and afterwards it is",
        arguments: StoreKind.available
    )
    func massFailure(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let answer = try Self.dead("u1", try await fixture.register("u1", token: "t1"))
            try await fixture.store.open(try Self.outlet(), reason: OpenBreaker.massDeath)
            #expect(try await fixture.store.revoke([answer]) == 0)
            _ = try await fixture.store.close(try Self.outlet())
            try await fixture.store.open(try Self.outlet(), reason: "PERMISSION_DENIED")
            #expect(try await fixture.store.revoke([answer]) == 1)
        }
    }

    @Test(
        "devices that answers have revoked are restored from a time on, once, and logged-out ones are not",
        arguments: StoreKind.available
    )
    func takingBack(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            for user in ["early", "late", "out"] {
                let device = try await fixture.register(user, token: "t-\(user)")
                if user == "out" {
                    try await fixture.feed(user, ("subscription.revoked", #","token":"t-out""#), from: 1)
                } else {
                    #expect(try await fixture.store.revoke([try Self.dead(user, device)]) == 1)
                }
                if user == "early" { try await fixture.pass(.seconds(3_600)) }
            }
            let since = try await fixture.now() - .seconds(600)
            let apns = BreakerKey(app: try Self.outlet().app, provider: "apns")
            #expect(try await fixture.store.takeBack(apns, since: since) == 0)
            #expect(try await fixture.store.takeBack(try Self.outlet(), since: since) == 1)
            #expect(try await fixture.store.takeBack(try Self.outlet(), since: since) == 0)
            #expect(try await fixture.devices("late").map(\.token.text) == ["t-late"])
            #expect(try await fixture.devices("early").isEmpty)
        }
    }

    @Test("a device is recorded as reached once, and its platform is known as reached", arguments: StoreKind.available)
    func reaching(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let device = try await fixture.register("u1", token: "t1")
            #expect(try await fixture.store.platformsReached().isEmpty)
            let key = try StoreFixture.user("u1")
            let reached = ReachedDevice(recipient: key, device: device)
            var counts: [Int] = []
            for devices in [[reached, reached], [reached]] { counts.append(try await fixture.store.note(devices)) }
            #expect(counts == [1, 0])
            #expect(try await fixture.devices("u1").map(\.wasReached) == [true])
            let scope = OutletScope(app: key.app, provider: "fcm", platform: .android)
            #expect(try await fixture.store.platformsReached() == [scope])
        }
    }

    @Test("a token belongs to the user who registered it last", arguments: StoreKind.available)
    func owners(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            _ = try await fixture.register("former", token: "t1")
            try await fixture.feed(
                "later",
                ("subscription.upserted", #","token":"t1","platform":"android","provider":"fcm""#),
                from: 5
            )
            #expect(try await fixture.devices("former").isEmpty)
            #expect(try await fixture.devices("later").count == 1)
        }
    }
}
