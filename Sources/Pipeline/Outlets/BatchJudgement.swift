import BellhopRules
import Push
import Store

/// What the answers to one batch mean together: which breakers they open, and what comes of each message.
///
/// A pure conclusion: whoever keeps the breakers acts on it.
struct BatchJudgement {
    /// One for each parcel, in their order; what is taken for a fault of ours is a config error.
    let verdicts: [Verdict]

    /// Whether devices die in masses at this outlet: then none that is gone is believed to be.
    var isMassDeath = false

    private let parcels: [Parcel]
    private let outlet: OutletKey

    /// `verdicts` are what each answer means alone, one for each parcel.
    ///
    /// `alarm` is why the breaker is open that these messages try: the same word once more confirms it, and costs nobody
    /// a device.
    init(_ verdicts: [Verdict], of parcels: [Parcel], _ outlet: OutletKey, despite alarm: String? = nil) {
        self.verdicts = Self.blamingUs(verdicts, parcels, alarm)
        self.parcels = parcels
        self.outlet = outlet
    }

    /// People of whom a device is gone.
    var peopleGone: Int {
        guard verdicts.contains(where: \.isGone) else { return 0 }
        return Set(zip(parcels, verdicts).filter { $1.isGone }.map(\.0.person)).count
    }

    /// How long the provider wants to hear nothing.
    var rest: Duration? { verdicts.lazy.compactMap(\.providerRest).max() }

    /// Whether an answer shows that the provider lets us in.
    var provesAccess: Bool { verdicts.contains(where: \.provesAccess) }

    /// The breakers to open, with their reasons; none where others of the same batch were taken, since then the keys are
    /// right.
    var refusals: [BreakerKey: String] {
        guard !isMassDeath else { return [BreakerKey(outlet): Revocations.massDeath] }
        var refusals: [BreakerKey: String] = [:]
        for (parcel, verdict) in zip(parcels, verdicts) {
            guard let breaker = breaker(verdict, parcel), let reason = verdict.reason else { continue }
            refusals[breaker] = reason.rawValue
        }
        guard !refusals.isEmpty else { return [:] }
        for (parcel, verdict) in zip(parcels, verdicts) where verdict.isTaken {
            refusals[BreakerKey(outlet)] = nil
            refusals[BreakerKey(outlet, platform: parcel.platform)] = nil
        }
        return refusals
    }

    /// What comes of each message; `pause` is how long those wait that a breaker holds.
    func arrivals(pause: Duration) -> [Arrival] {
        let refusals = refusals
        let held = Arrival.held(Hold(cause: .breaker, wait: pause))
        return zip(parcels, verdicts).map { parcel, verdict in
            if let breaker = breaker(verdict, parcel), let reason = verdict.reason {
                // Where others were taken meanwhile it is this message, and its attempts count.
                let isHeld = isMassDeath || refusals[breaker] != nil
                return isHeld ? held : .answered(.configError(reason, scope: .message))
            }
            return isMassDeath && verdict.isGone ? held : .answered(verdict)
        }
    }

    /// The breaker that a verdict asks for; nil where it is about its own message or device.
    private func breaker(_ verdict: Verdict, _ parcel: Parcel) -> BreakerKey? {
        switch verdict {
        case .configError(_, .provider): BreakerKey(outlet)
        case .configError(_, .platform): BreakerKey(outlet, platform: parcel.platform)
        case .configError, .delivered, .accepted, .retry, .deviceGone, .payloadError, .unknown: nil
        }
    }

    /// The verdicts with those as config errors that are too many to be the fault of devices or mailboxes.
    ///
    /// Each of APNs' environments is judged by itself: what is said of development builds is nothing about the others.
    private static func blamingUs(_ verdicts: [Verdict], _ parcels: [Parcel], _ alarm: String?) -> [Verdict] {
        guard verdicts.contains(where: { $0.inMasses != nil }) else { return verdicts }
        var judged = verdicts
        let environments = Dictionary(grouping: verdicts.indices) { parcels[$0].environment }
        for places in environments.values {
            var suspects: [Verdict: [Int]] = [:]
            for place in places {
                if let meaning = verdicts[place].inMasses { suspects[meaning, default: []].append(place) }
            }
            for (meaning, suspects) in suspects {
                let people = suspects.map { parcels[$0].person }
                let isKnown = alarm != nil && meaning.reason?.rawValue == alarm
                guard isKnown || FaultOfOurs.isLikely(people, of: places.count) else { continue }
                for place in suspects { judged[place] = meaning }
            }
        }
        return judged
    }
}

extension Parcel {
    fileprivate var person: RecipientKey { key.notification.recipient }

    /// Which of APNs' environments it went to; nil at the others, who have one.
    fileprivate var environment: PushEnvironment? {
        guard let device = cargo.device, device.provider == .apns else { return nil }
        return device.environment
    }
}
