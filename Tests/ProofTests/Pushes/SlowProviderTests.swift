import AMQP
import Foundation
import IntegrationSupport
import Sandbox
import TestSupport
import Testing

/// Runs concurrently with the other proofs: most of the time it waits for the slow provider.
@Suite("Slow providers", .limitedProofConcurrency, .enabled(if: Proof.hasServers, Proof.absence), .timeLimit(.ofProof))
struct SlowProviderTests {
    private static let steps = Proof.isFull ? 300 : 100
    /// The number of events of the slow app that precede each event of the fast app in the same lane.
    private static let ahead = 10
    /// The response time of the slow provider.
    private static let delay = Duration.seconds(15)

    /// A lane, represented by a type in it.
    struct Road: Sendable {
        let type: String
        /// The prefetch of the worker, small for this lane, so that a few held messages have an effect.
        let prefetch: String
    }

    private static let roads = [
        Road(type: "transaction_complete", prefetch: "64"), Road(type: "security", prefetch: "256,urgent=64"),
    ]

    @Test("a provider that answers after 15 s does not slow another app's provider", arguments: roads)
    func slowProvider(_ road: Road) async throws {
        try await withCatalogs { catalogs in
            try await Stage.with(catalogs: catalogs) { stage in
                try await TwoAppFixture.with(stage, road) { apps in
                    let before = try await apps.run(0..<Self.steps, ahead: Self.ahead)
                    apps.slow.setFaults([SandboxFault(.fcm, .delay, delay: Self.delay)])
                    let beside = try await apps.run(Self.steps..<2 * Self.steps, ahead: Self.ahead)
                    let asked = apps.slow.summary.total - Self.steps * Self.ahead
                    let answered = try await apps.delivered() - Self.steps * Self.ahead
                    apps.slow.setFaults([])
                    // Includes the push that opened the connection.
                    try await apps.settle(2 * Self.steps * Self.ahead + 1)
                    let after = try await apps.run(2 * Self.steps..<3 * Self.steps, ahead: Self.ahead)
                    let all = 3 * Self.steps * Self.ahead
                    try await apps.settle(all + 1)
                    let ratio = (beside / max(before, after) * 100).rounded() / 100
                    let quick = "\(before.inSeconds) and \(after.inSeconds) beside a quick provider"
                    let times = "\(quick), \(beside.inSeconds) beside a slow one, ratio \(ratio)"
                    let ahead = Self.steps * Self.ahead
                    let figures = "\(times); \(max(0, answered)) of \(ahead) pushes ahead were answered by then"
                    Proof.report("slow provider: \(Self.steps) pushes of \(road.type) in turn took \(figures)")
                    // If the fast app waited for the slow provider, nearly all of the events ahead of its last one would
                    // have been answered before that.
                    #expect(answered < ahead / 2, "\(figures)")
                    #expect(asked > 0, "the slow provider was not asked")
                    #expect(try await stage.count("deliveries WHERE unknown_sends > 0") == 0)
                    #expect(apps.slow.summary.total == all)
                }
            }
        }
    }

    /// Writes the catalogue of drop, and a copy for an app with another name.
    private func withCatalogs(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(Servers.uniqueName("catalogs"))
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = Program.catalogs.appendingPathComponent("drop.json5")
        let drop = try String(contentsOf: file, encoding: .utf8)
        let slow = drop.replacingOccurrences(of: #"app: "drop""#, with: #"app: "slow""#)
        guard slow != drop else { throw ProofFailure("the catalogue does not name its app as expected") }
        try Data(drop.utf8).write(to: folder.appendingPathComponent("drop.json5"))
        try Data(slow.utf8).write(to: folder.appendingPathComponent("slow.json5"))
        try await body(folder)
    }
}

/// Two apps in the lanes of one worker, with separate providers.
private struct TwoAppFixture {
    let stage: Stage
    let quick: ProviderSandbox
    let slow: ProviderSandbox
    private let producer: Producer
    private let type: String

    static func with(
        _ stage: Stage,
        _ road: SlowProviderTests.Road,
        _ body: (TwoAppFixture) async throws -> Void
    ) async throws {
        let (quick, slow) = (try await ProviderSandbox.start(), try await ProviderSandbox.start())
        let result: Result<Void, any Error>
        do {
            let file = try ProvidersFile(in: stage.folder, ["drop": quick, "slow": slow])
            _ = try await stage.worker([
                "BELLHOP_PROVIDERS": file.path, "BELLHOP_PREFETCH": road.prefetch,
                "BELLHOP_LEASE": PushFault.longLease,
            ])
            result = .success(
                try await Producer.with(try stage.broker) { producer in
                    let apps = TwoAppFixture(
                        stage: stage,
                        quick: quick,
                        slow: slow,
                        producer: producer,
                        type: road.type
                    )
                    try await apps.registerDevices()
                    try await body(apps)
                }
            )
        } catch {
            result = .failure(error)
        }
        await quick.stop(grace: .zero)
        await slow.stop(grace: .zero)
        try result.get()
    }

    /// Publishes events of the fast app in turn, each behind `ahead` of the slow app, and returns the total time.
    ///
    /// Each event waits for the push of the previous one.
    func run(_ numbers: Range<Int>, ahead: Int) async throws -> Duration {
        let began = ContinuousClock.now
        for number in numbers {
            let others = (0..<ahead).map { event("slow", "\(number)-\($0)") }
            try await publish(others + [event("drop", "\(number)")])
            try await eventually("push \(number) has arrived") { quick.summary.total > number }
        }
        return .now - began
    }

    /// Waits until `count` pushes of the slow app are delivered and nothing is owed.
    ///
    /// The worker stores two batches at a time, so the slow app's last events may be recorded after the fast app's
    /// push.
    func settle(_ count: Int) async throws {
        try await eventually("\(count) pushes of the slow app are delivered, and nothing is owed") {
            let delivered = try await delivered()
            let owed = try await stage.count("deliveries WHERE state IN (\(PushBalance.owed))")
            return delivered == count && owed == 0
        }
    }

    /// The number of pushes of the slow app that its provider has answered.
    func delivered() async throws -> Int {
        try await stage.count("deliveries WHERE app = 'slow' AND state = 'delivered'")
    }

    private func registerDevices() async throws {
        let device = #"{"userId":"ada","token":"ada","platform":"android","provider":"fcm"}"#
        try await publish(
            ["drop", "slow"].map { app in
                OutgoingMessage(
                    exchange: stage.names.events,
                    routingKey: "\(app).subscription.upserted",
                    body: Array(device.utf8)
                )
            }
        )
        try await eventually("the devices are registered") { try await stage.count("push_subscriptions") == 2 }
        // The first push fetches an access token, which is not to be measured.
        for app in ["drop", "slow"] { try await publish([event(app, "warm")]) }
        try await eventually("both providers are reached") {
            quick.received(.fcm).count == 1 && slow.received(.fcm).count == 1
        }
        quick.forgetReceived()
        slow.forgetReceived()
    }

    private func event(_ app: String, _ id: String) -> OutgoingMessage {
        let body = #"{"id":"\#(id)","to":{"user":"ada"},"title":"Hei","body":"på deg"}"#
        return OutgoingMessage(
            exchange: stage.names.events,
            routingKey: "\(app).\(type)",
            body: Array(body.utf8)
        )
    }

    private func publish(_ messages: [OutgoingMessage]) async throws {
        let outcomes = await producer.publisher.publish(messages)
        guard outcomes.allSatisfy({ $0 == .confirmed }) else { throw ProofFailure("a message was not confirmed") }
    }
}
