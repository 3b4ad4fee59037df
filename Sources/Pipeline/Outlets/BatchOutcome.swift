import BellhopRules
import Push
import Store

/// The combined meaning of the answers to one batch: the breakers to open, and the verdict on each message.
///
/// It has no side effects; ``Outlet`` acts on it.
struct BatchOutcome {
    /// One verdict per shipment, in order.
    ///
    /// A suspected configuration error is a `configError`.
    let verdicts: [Verdict]

    /// Whether there is a mass failure of devices at this outlet.
    ///
    /// If so, no answer that a device is gone is accepted.
    var isMassDeath = false

    private let shipments: [OutgoingDelivery]
    private let outlet: OutletKey

    /// Evaluates `verdicts`, the separate meaning of each answer, one per shipment, with the earlier observations.
    init(
        _ verdicts: [Verdict],
        of shipments: [OutgoingDelivery],
        _ outlet: OutletKey,
        _ history: AcceptanceHistory = .everybody
    ) {
        self.verdicts = MassFailure.meanings(of: verdicts, to: shipments, history)
        self.shipments = shipments
        self.outlet = outlet
    }

    /// The number of users with devices that are gone, and the number of answers.
    var deaths: (people: Int, answers: Int) {
        guard verdicts.contains(where: \.isGone) else { return (0, verdicts.count) }
        return (Set(zip(shipments, verdicts).filter { $1.isGone }.map(\.0.person)).count, verdicts.count)
    }

    /// The same numbers without the unreached devices that are gone.
    var deathsOfReached: (people: Int, answers: Int) {
        guard verdicts.contains(where: \.isGone) else { return (0, verdicts.count) }
        let gone = zip(shipments, verdicts).filter { $1.isGone }.map(\.0)
        let reached = gone.filter(\.wasReached)
        return (Set(reached.map(\.person)).count, verdicts.count - gone.count + reached.count)
    }

    /// The pause that the provider requested.
    var rest: Duration? { verdicts.lazy.compactMap(\.providerRest).max() }

    /// Whether an answer proves that the provider accepts our credentials.
    var provesAccess: Bool { verdicts.contains(where: \.provesAccess) }

    /// The breakers to open, with their reasons.
    ///
    /// A breaker is left out if other messages of the same batch were accepted, because the credentials are then right.
    var refusals: [BreakerKey: String] {
        guard !isMassDeath else { return [BreakerKey(outlet): OpenBreaker.massDeath] }
        var refusals: [BreakerKey: String] = [:]
        for (shipment, verdict) in zip(shipments, verdicts) {
            guard let breaker = breaker(verdict, shipment), let reason = verdict.reason else { continue }
            refusals[breaker] = reason.rawValue
        }
        guard !refusals.isEmpty else { return [:] }
        for (shipment, verdict) in zip(shipments, verdicts) where verdict.isTaken {
            refusals[BreakerKey(outlet)] = nil
            refusals[BreakerKey(outlet, platform: shipment.platform)] = nil
        }
        return refusals
    }

    /// The verdict on each message; `nil` if its message is deferred behind a breaker that opens now.
    var rulings: [Verdict?] {
        let refusals = refusals
        return zip(shipments, verdicts).map { shipment, verdict in
            if let breaker = breaker(verdict, shipment), let reason = verdict.reason {
                // If others were accepted meanwhile, this message is at fault, and its attempts count.
                let isHeld = isMassDeath || refusals[breaker] != nil
                return isHeld ? nil : .configError(reason, scope: .message)
            }
            return isMassDeath && verdict.isGone ? nil : verdict
        }
    }

    /// Returns the breaker that a verdict opens; `nil` if the verdict concerns only its message or device.
    private func breaker(_ verdict: Verdict, _ shipment: OutgoingDelivery) -> BreakerKey? {
        switch verdict {
        case .configError(_, .provider): BreakerKey(outlet)
        case .configError(_, .platform): BreakerKey(outlet, platform: shipment.platform)
        case .configError, .delivered, .accepted, .retry, .deviceGone, .payloadError, .unknown: nil
        }
    }
}

extension VerdictReason {
    /// Whether the registration itself is invalid, so that no request to the provider was made.
    fileprivate var isOfRegistration: Bool { self == .endpointRefused || self == .subscriptionUnusable }
}

/// The facts about a verdict that breakers evaluate.
extension Verdict {
    /// Whether the provider accepted the message, which proves that our credentials are right.
    var isTaken: Bool {
        switch self {
        case .delivered, .accepted: true
        case .retry, .deviceGone, .configError, .payloadError, .unknown: false
        }
    }

    /// The reason, if our credentials or settings are rejected for more than this message; otherwise `nil`.
    var refusal: VerdictReason? {
        switch self {
        case .configError(let reason, .provider), .configError(let reason, .platform): reason
        default: nil
        }
    }

    /// Whether the provider accepted the message or recognised its device, so that our credentials are right.
    ///
    /// Errors in a message or in a token's format may have been found locally.
    var provesAccess: Bool {
        switch self {
        case .delivered, .accepted: true
        case .deviceGone(let reason, _): reason != .invalidToken && !reason.isOfRegistration
        case .retry, .configError, .payloadError, .unknown: false
        }
    }

    /// Whether the provider reports the device as gone.
    ///
    /// A registration that can reach no device is detected locally. Anybody can create any number of them. They are
    /// not evidence about our credentials.
    var isGone: Bool {
        guard case .deviceGone(let reason, _) = self else { return false }
        return !reason.isOfRegistration
    }

    /// The pause that the provider requested for all messages of an app.
    var providerRest: Duration? {
        switch self {
        case .retry(.quotaExceeded, let wait, .provider), .retry(.requestRate, let wait, .provider): wait
        default: nil
        }
    }
}
