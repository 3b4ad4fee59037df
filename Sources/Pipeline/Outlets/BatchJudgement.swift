import BellhopRules
import Push
import Store

/// What the answers to one batch mean together: which breakers they open, and what comes of each message.
///
/// A pure conclusion: whoever keeps the breakers acts on it.
struct BatchJudgement {
    /// One for each shipment, in their order; what is taken for a fault of ours is a config error.
    let verdicts: [Verdict]

    /// Whether devices die in masses at this outlet: then none that is gone is believed to be.
    var isMassDeath = false

    private let shipments: [Shipment]
    private let outlet: OutletKey

    /// `verdicts` are what each answer means alone, one for each shipment.
    ///
    /// `alarm` is why the breaker is open that these messages try: the same word once more confirms it, and costs nobody
    /// a device.
    init(
        _ verdicts: [Verdict],
        of shipments: [Shipment],
        _ outlet: OutletKey,
        despite alarm: String? = nil,
        witnesses: Witnesses = .everybody
    ) {
        let panel = JudgementPanel(shipments: shipments, witnesses: witnesses, alarm: alarm)
        self.verdicts = panel.blamingUs(panel.sparingTheOthers(panel.forgivingStrangers(verdicts)))
        self.shipments = shipments
        self.outlet = outlet
    }

    /// Whether a breaker would open on the word of devices that were never reached: it depends on whom else one knows.
    var restsOnStrangers: Bool {
        zip(shipments, verdicts).contains { breaker($1, $0) != nil && !$0.wasReached }
    }

    /// How many people's devices are gone, of how many answers.
    var deaths: (people: Int, answers: Int) {
        guard verdicts.contains(where: \.isGone) else { return (0, verdicts.count) }
        return (Set(zip(shipments, verdicts).filter { $1.isGone }.map(\.0.person)).count, verdicts.count)
    }

    /// The same where those that were never reached are left out who are gone.
    var deathsOfReached: (people: Int, answers: Int) {
        guard verdicts.contains(where: \.isGone) else { return (0, verdicts.count) }
        let gone = zip(shipments, verdicts).filter { $1.isGone }.map(\.0)
        let reached = gone.filter(\.wasReached)
        return (Set(reached.map(\.person)).count, verdicts.count - gone.count + reached.count)
    }

    /// Where something was taken: APNs' environments, or nil for a provider that has none.
    var environmentsTaken: Set<PushEnvironment?> {
        Set(zip(shipments, verdicts).lazy.filter { $1.isTaken }.map(\.0.environment))
    }

    /// For which platforms something was taken.
    var platformsTaken: Set<DevicePlatform> {
        Set(zip(shipments, verdicts).lazy.filter { $1.isTaken }.compactMap(\.0.platform))
    }

    /// How long the provider wants to hear nothing.
    var rest: Duration? { verdicts.lazy.compactMap(\.providerRest).max() }

    /// Whether an answer shows that the provider lets us in.
    var provesAccess: Bool { verdicts.contains(where: \.provesAccess) }

    /// The breakers to open, with their reasons; none where others of the same batch were taken, since then the keys are
    /// right.
    var refusals: [BreakerKey: String] {
        guard !isMassDeath else { return [BreakerKey(outlet): RevocationBook.massDeath] }
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

    /// What each answer comes to; nil where its message is held behind the breaker that opens now.
    var rulings: [Verdict?] {
        let refusals = refusals
        return zip(shipments, verdicts).map { shipment, verdict in
            if let breaker = breaker(verdict, shipment), let reason = verdict.reason {
                // Where others were taken meanwhile it is this message, and its attempts count.
                let isHeld = isMassDeath || refusals[breaker] != nil
                return isHeld ? nil : .configError(reason, scope: .message)
            }
            return isMassDeath && verdict.isGone ? nil : verdict
        }
    }

    /// The breaker that a verdict asks for; nil where it is about its own message or device.
    private func breaker(_ verdict: Verdict, _ shipment: Shipment) -> BreakerKey? {
        switch verdict {
        case .configError(_, .provider): BreakerKey(outlet)
        case .configError(_, .platform): BreakerKey(outlet, platform: shipment.platform)
        case .configError, .delivered, .accepted, .retry, .deviceGone, .payloadError, .unknown: nil
        }
    }
}
