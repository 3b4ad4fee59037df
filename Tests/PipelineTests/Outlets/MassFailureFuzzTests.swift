import BellhopRules
import Foundation
import Push
import Store
import Testing

@testable import Pipeline

/// Compares the one pass over a batch with the former three, on random batches.
@Suite("Mass failures in one pass")
struct MassFailureFuzzTests {
    private static let rounds = ProcessInfo.processInfo.environment["BELLHOP_FUZZ_ROUNDS"].flatMap(Int.init) ?? 5_000

    @Test("one pass gives the same meanings as the former three")
    func same() throws {
        var chance = SystemRandomNumberGenerator()
        var openings = 0
        for _ in 0..<Self.rounds {
            let batch = try RandomBatch(&chance)
            let former = batch.former
            let now = MassFailure.meanings(of: batch.verdicts, to: batch.shipments, batch.history)
            guard now == former.verdicts else {
                Issue.record("\(batch): \(former.verdicts), and now \(now)")
                return
            }
            if !former.refusals.isEmpty { openings += 1 }
        }
        #expect(openings > Self.rounds / 10)
    }
}

/// The answers to a batch through one provider, and the earlier observations of it.
private struct RandomBatch {
    let outlet: OutletKey
    let answers: [Answered]
    let shipments: [OutgoingDelivery]
    let alarm: String?
    private let accepted: AcceptanceHistory

    init(_ chance: inout SystemRandomNumberGenerator) throws {
        let provider = try #require([PushProvider.apns, .fcm, .expo, .webpush].randomElement(using: &chance))
        let kinds = Self.kinds(of: provider)
        let usual = try #require(kinds.randomElement(using: &chance))
        let share = Double.random(in: 0...1, using: &chance)
        let hasReached = provider == .apns || provider == .fcm
        var answers: [Answered] = []
        for _ in 0..<Int.random(in: 1...14, using: &chance) {
            let isUsual = Double.random(in: 0...1, using: &chance) < share
            var answer = Answered(
                person: "u\(Int.random(in: 0..<12, using: &chance))",
                verdict: isUsual ? usual : try #require(kinds.randomElement(using: &chance))
            )
            answer.platform = try #require(DevicePlatform.allCases.randomElement(using: &chance))
            answer.environment = Int.random(in: 0..<3, using: &chance) == 0 ? .sandbox : .production
            answer.wasReached = hasReached && Bool.random(using: &chance)
            answers.append(answer)
        }
        self.answers = answers
        shipments = try answers.enumerated().map { try $1.shipment($0, provider) }
        outlet = OutletKey(app: try #require(AppID(validating: "drop")), provider: provider)
        let isProbe = Int.random(in: 0..<6, using: &chance) == 0
        alarm = isProbe ? kinds.randomElement(using: &chance)?.reason?.rawValue ?? OpenBreaker.massDeath : nil
        let environments = shipments.map(\.environment)
        var accepted = AcceptanceHistory()
        if Bool.random(using: &chance) {
            accepted.recentlyAccepted = [environments.randomElement(using: &chance) ?? nil]
            if provider == .expo { accepted.platformsTakenLately = [answers[0].platform] }
        }
        // A batch's own acceptances count before it is judged.
        for (answer, environment) in zip(answers, environments) where answer.verdict.isTaken {
            accepted.recentlyAccepted.insert(environment)
            if provider == .expo { accepted.platformsTakenLately.insert(answer.platform) }
        }
        let platforms: [Set<DevicePlatform>] = [[], [.ios], [.ios, .android], Set(DevicePlatform.allCases)]
        if hasReached { accepted.platforms = platforms.randomElement(using: &chance) ?? [] }
        self.accepted = accepted
    }

    var verdicts: [Verdict] { answers.map(\.verdict) }

    /// The observations that the one pass gets: none of the former ones during a probe.
    var history: AcceptanceHistory {
        guard let alarm else { return accepted }
        return AcceptanceHistory(probed: alarm)
    }

    /// The former result: a second evaluation only if a breaker would open because of unreached devices.
    var former: BatchOutcome {
        let first = BatchOutcome(verdicts, of: shipments, outlet, despite: alarm)
        guard first.dependsOnUnreachedDevices, alarm == nil else { return first }
        return BatchOutcome(verdicts, of: shipments, outlet, witnesses: accepted)
    }

    private static func kinds(of provider: PushProvider) -> [Verdict] {
        let refused = Verdict.configError(.permissionDenied, scope: .provider)
        return switch provider {
        case .apns:
            [
                .deviceGone(.badDeviceToken, at: nil), .deviceGone(.deviceTokenNotForTopic, at: Timestamp(clamping: 3)),
                refused, .configError(.permissionDenied, scope: .platform), .deviceGone(.unregistered, at: nil),
                .delivered(providerMessageID: nil), .retry(.requestRate, notBefore: .seconds(1), scope: .provider),
            ]
        case .fcm:
            [
                .deviceGone(.senderIDMismatch, at: nil), refused, .configError(.thirdPartyAuthError, scope: .platform),
                .delivered(providerMessageID: nil), .unknown(.timeout, notBefore: .seconds(1)),
            ]
        case .expo:
            [
                refused, .configError(.mismatchedSender, scope: .provider),
                .configError(.invalidCredentials, scope: .platform), .configError(.developerError, scope: .platform),
                .accepted(ticket: "t"),
            ]
        case .webpush:
            [
                .deviceGone(.vapidMismatch, at: nil), .payloadError(.mailboxUnknown), .payloadError(.refusedByPolicy),
                .configError(.refusedByPolicy, scope: .provider), refused, .delivered(providerMessageID: nil),
            ]
        }
    }
}
