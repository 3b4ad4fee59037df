import BellhopRules
import Store

/// The current obstacles at the providers, as a replay would find them.
struct ReplayObstacles: Sendable {
    private let breakers: [OpenBreaker]
    private let holds: [HoldScope]

    init(of pool: ConnectionPool) async throws(StoreError) {
        breakers = try await OpenBreaker.all(on: pool)
        holds = try await OperatorHold.all(on: pool).map(\.scope)
    }

    /// Returns the prediction for an outcome at a device, or at the user's mailbox if the device is `nil`.
    func prediction(_ outcome: Outcome, to device: Device?, _ app: AppID, _ type: EventType) -> ReplayPrediction {
        guard case .send = outcome else { return ReplayPrediction(outcome) }
        let outlet = device.map { OutletKey(app: app, provider: $0.provider) } ?? .email(of: app)
        if holds.contains(where: { $0.covers(app, provider: outlet.provider, type: type) }) {
            return ReplayPrediction(.heldByOperator, outlet.provider)
        }
        let breaker = breakers.first { breaker in
            breaker.key.isOf(outlet) && (breaker.key.platform == nil || breaker.key.platform == device?.platform)
        }
        return breaker.map { ReplayPrediction(.heldByBreaker, "\(outlet.provider) says \($0.reason)") }
            ?? ReplayPrediction(outcome)
    }
}
