import BellhopRules
import Push
import Store

/// Compares the answers to a batch.
///
/// An answer that many users receive indicates a configuration error, unless only unreached devices receive it.
struct BatchVerdictRules {
    let shipments: [OutgoingDelivery]
    let witnesses: AcceptanceHistory
    /// The reason of the open breaker that these messages probe.
    let alarm: String?

    /// Returns the verdicts, with a configuration error in place of answers that are too frequent to be errors of
    /// devices or mailboxes.
    ///
    /// Each of APNs' environments is evaluated separately, because answers about development builds are not evidence
    /// about the others.
    func escalatingMassFailures(_ verdicts: [Verdict]) -> [Verdict] {
        guard verdicts.contains(where: { $0.inMasses != nil }) else { return verdicts }
        var judged = verdicts
        for (environment, places) in Dictionary(grouping: verdicts.indices, by: { shipments[$0].environment }) {
            var suspects: [Verdict: [Int]] = [:]
            for place in places {
                if let meaning = verdicts[place].inMasses { suspects[meaning, default: []].append(place) }
            }
            for (meaning, suspects) in suspects {
                guard let judgement = judge(suspects, of: places.count, meaning, in: environment) else { continue }
                for place in suspects { judged[place] = judgement }
            }
        }
        return judged
    }

    /// Returns the common verdict on all `suspects`, whose answer means `meaning` if many users receive it; `nil` if
    /// each answer stands alone.
    private func judge(
        _ suspects: [Int],
        of answers: Int,
        _ meaning: Verdict,
        in environment: PushEnvironment?
    ) -> Verdict? {
        guard let reason = meaning.reason else { return nil }
        if let alarm, reason.rawValue == alarm { return meaning }
        let people = suspects.map { shipments[$0].person }
        guard witnesses.hasReachedDevices else { return MassFailure.isLikely(people, of: answers) ? meaning : nil }
        let reached = suspects.filter { shipments[$0].wasReached }
        let others = answers - (suspects.count - reached.count)
        if MassFailure.isLikely(reached.map { shipments[$0].person }, of: others) { return meaning }
        // It is unknown whether the credentials are right. Each device is tried again separately and blocks no other.
        let isDoubtful = !witnesses.recentlyAccepted.contains(environment)
        guard isDoubtful, MassFailure.isLikely(people, of: answers) else { return nil }
        return .configError(reason, scope: .device)
    }

    /// Returns the verdicts, with errors limited to their device if an unreached device can cause them by its own
    /// registration.
    ///
    /// Examples are APNs' other environment and another platform. This applies while the app has reached devices of the
    /// kind.
    func confiningUnreachedDevices(_ verdicts: [Verdict]) -> [Verdict] {
        guard witnesses.hasReachedDevices else { return verdicts }
        return zip(shipments, verdicts).map { shipment, verdict in
            guard !shipment.wasReached, let reason = verdict.refusal, isOfItsOwnMaking(verdict, shipment) else {
                return verdict
            }
            let isShared = zip(shipments, verdicts).contains { $0.wasReached && $1 == verdict }
            return isShared ? verdict : .configError(reason, scope: .device)
        }
    }

    /// Returns the verdicts, with errors limited to their recipient if a single recipient can cause them, unless many
    /// receive the same answer.
    ///
    /// If others were accepted recently, our credentials and settings are right.
    func confiningSingleRecipients(_ verdicts: [Verdict]) -> [Verdict] {
        guard !witnesses.recentlyAccepted.isEmpty, verdicts.contains(where: { $0.ofOneRecipient != nil }) else {
            return verdicts
        }
        var spared = verdicts
        for (verdict, places) in Dictionary(grouping: verdicts.indices, by: { verdicts[$0] }) {
            guard let own = verdict.ofOneRecipient else { continue }
            guard case .configError(_, .platform) = verdict else {
                spare(places, of: verdicts.count, own, in: &spared)
                continue
            }
            for (platform, places) in Dictionary(grouping: places, by: { shipments[$0].platform }) {
                guard let platform, witnesses.platformsTakenLately.contains(platform) else { continue }
                spare(places, of: shipments.count { $0.platform == platform }, own, in: &spared)
            }
        }
        return spared
    }

    private func spare(_ places: [Int], of answers: Int, _ own: Verdict, in verdicts: inout [Verdict]) {
        guard !MassFailure.isLikely(places.map { shipments[$0].person }, of: answers) else { return }
        for place in places { verdicts[place] = own }
    }

    private func isOfItsOwnMaking(_ verdict: Verdict, _ shipment: OutgoingDelivery) -> Bool {
        if case .configError(_, .platform) = verdict {
            return shipment.platform.map(witnesses.platforms.contains) ?? false
        }
        return shipment.environment == .sandbox
    }
}
