package import BellhopRules
import ServiceRuntime
package import Store

/// The deliveries behind the open breakers of an app at a provider, with the time of the next probe.
package struct BlockedDeliveries: Sendable {
    package let app: String
    package let provider: String
    /// The reason of the breaker whose probe comes first.
    package let reason: String
    /// The earliest next probe; not after `asOf` if it is due.
    package let nextProbe: Timestamp
    package let waiting: Int
    /// Whether there are more deliveries than were counted.
    package let isCapped: Bool
    private let asOf: Timestamp

    /// Returns the deliveries behind one breaker.
    package init(_ breaker: OpenBreaker, _ backlogs: [WaitingBacklog], _ holds: [OperatorHold], asOf: Timestamp) {
        self.init([breaker], first: breaker, backlogs, holds, asOf: asOf)
    }

    private init(
        _ breakers: [OpenBreaker],
        first: OpenBreaker,
        _ backlogs: [WaitingBacklog],
        _ holds: [OperatorHold],
        asOf: Timestamp
    ) {
        (app, provider, reason) = (first.key.app.text, first.key.provider, first.reason)
        self.asOf = asOf
        // A wrong clock may have written any time.
        let wait = min(first.probeIn, .seconds(86_400)).components
        nextProbe = Timestamp(
            clamping: asOf.microseconds + wait.seconds * 1_000_000 + wait.attoseconds / 1_000_000_000_000
        )
        let own = backlogs.filter { backlog in
            OutletScope(backlog.name).map { part in breakers.contains { $0.key.blocks(part, holds) } } ?? false
        }
        waiting = own.map(\.count).reduce(0, +)
        isCapped = own.contains { $0.count >= StoreStatus.most }
    }

    /// Returns the deliveries behind all open breakers by app and provider, in the order of `breakers`.
    package static func all(
        _ breakers: [OpenBreaker],
        _ backlogs: [WaitingBacklog],
        _ holds: [OperatorHold],
        asOf: Timestamp
    ) -> [BlockedDeliveries] {
        var all: [BlockedDeliveries] = []
        for breaker in breakers {
            let own = breakers.filter { $0.key.app == breaker.key.app && $0.key.provider == breaker.key.provider }
            guard own.first == breaker, let first = own.min(by: { $0.probeIn < $1.probeIn }) else { continue }
            all.append(BlockedDeliveries(own, first: first, backlogs, holds, asOf: asOf))
        }
        return all
    }

    /// Returns the deliveries behind the breakers of an app at a provider; `nil` if none is open.
    static func behind(
        _ app: AppID,
        _ provider: String,
        in context: OperationsContext
    ) async throws -> BlockedDeliveries? {
        let breakers = try await OpenBreaker.all(on: context.pool).filter { breaker in
            breaker.key.app == app && breaker.key.provider == provider
        }
        guard !breakers.isEmpty else { return nil }
        let backlogs = try await WaitingBacklog.all(on: context.pool)
        let holds = try await OperatorHold.all(on: context.pool)
        return all(breakers, backlogs, holds, asOf: SystemTime().timestamp).first
    }

    /// The number of deliveries as `60` or `at least 100,000`.
    package var count: String { (isCapped ? "at least " : "") + waiting.grouped }

    /// The deliveries and the next probe, such as `60 pushes wait, next try at 12:19:45 UTC`.
    package var words: String {
        let noun = CheckedProvider(rawValue: provider) == .email ? "mail" : "push"
        let nouns = waiting == 1 ? "\(noun) waits" : (noun == "mail" ? "mails" : "pushes") + " wait"
        let wait = "\(count) \(nouns)"
        return nextProbe > asOf
            ? "\(wait), next try at \(HumanText.clock(nextProbe))"
            : "\(wait), and the next one is sent as a try"
    }

    /// The sentence for an operator who brings retries forward.
    var retryWords: String { "A breaker is open (\(reason)): \(words); \(command) tries now." }

    /// The command that does not wait for the next probe.
    package var command: String { "bellhop providers probe --app \(app) --provider \(provider)" }
}

extension BreakerKey {
    /// Whether the breaker stops a backlog.
    ///
    /// The backlog of a held type waits for its hold; after the release it waits for the breaker.
    func blocks(_ part: OutletScope, _ holds: [OperatorHold]) -> Bool {
        app == part.app && provider == part.provider && (platform == nil || platform == part.platform)
            && (part.type == nil || !holds.contains { $0.scope.owns(part) })
    }
}
