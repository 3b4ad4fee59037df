import BellhopRules
import Push
import Store

extension Explanation {
    /// Describes each delivery with its destination, or says that there is none.
    package var deliveryLines: [String] {
        story.lines.isEmpty ? ["in the app only"] : story.lines.map { "\(name(of: $0)): \(sentence(of: $0))" }
    }

    /// Describes one delivery of the ledger in a sentence.
    func sentence(of line: DeliveryHistory) -> String {
        var parts = [status(of: line)]
        if line.attempts > 1 { parts.append("\(line.attempts) attempts") }
        if line.unknownSends > 0 {
            let sends = line.unknownSends == 1 ? "one send" : "\(line.unknownSends) sends"
            // Each of them may have arrived, in addition to a send that was accepted.
            let mayRepeat = line.unknownSends > 1 || line.state == .accepted || line.state == .delivered
            parts.append(
                "\(sends) without an answer, so the device may have got it\(mayRepeat ? " more than once" : "")"
            )
        }
        return parts.joined(separator: "; ")
    }

    private func status(of line: DeliveryHistory) -> String {
        switch line.state {
        case .pending: "released, not yet claimed by a worker" + again(line)
        case .sending: "being sent since \(instant(line.updatedAt))"
        case .retrying: "tried without success\(because(line)); again from \(due(line)) on"
        case .deferred: waiting(line)
        case .accepted: "accepted by the provider; receipt pending" + identity(line)
        case .delivered: "delivered" + inDigest(line) + identity(line)
        case .suppressed: "not sent: \(suppression(line))"
        case .expired: "not sent: \(lateness(line))"
        case .failed: "given up: \(Self.words(of: line.reason))" + end(of: line)
        case .unknown: "outcome unknown\(because(line))"
        case nil: "in a state that this program does not know"
        }
    }

    /// Returns the cause of a suppression, more exactly if the stored data determine it.
    private func suppression(_ line: DeliveryHistory) -> String {
        let words = Self.words(of: line.reason)
        switch line.reason.flatMap(SuppressionReason.init(rawValue:)) {
        case .noDevice:
            let isKnown = story.devices.contains { $0.revokedAt == nil }
            return isKnown ? "\(words) when the rules decided; one is registered now" : words
        case .typeMuted:
            // The settings of today explain the decision of then only if they lead to the same decision.
            guard let type = story.record?.notification.content.type, case .decided(let decision, _) = today,
                decision.push?.reason == SuppressionReason.typeMuted.rawValue
            else { return words }
            let isChoice = story.settings.recipient.preferences?.wants(type) != nil
            let author = isChoice ? "the user's setting" : "the app's default"
            return "this type is off by \(author) (\(SuppressionReason.typeMuted.rawValue))"
        default: return words
        }
    }

    /// Returns the cause of an expiry: the notification had already expired when it was recorded, or it would have
    /// expired by the end of its wait.
    private func lateness(_ line: DeliveryHistory) -> String {
        guard line.reason == Self.tooLate, let notification = story.record?.notification,
            let expiresAt = notification.content.expiresAt, expiresAt > notification.createdAt
        else { return Self.words(of: line.reason) }
        return "it would have been too late by the time that it had to wait for (\(Self.tooLate))"
    }

    private func waiting(_ line: DeliveryHistory) -> String {
        if let backlog = line.backlog {
            // It keeps its turn if it moves to another backlog, as behind a hold, or returns after an attempt.
            let isOlder = line.updatedAt.microseconds - backlog.queuedAt.microseconds >= 1_000_000
            let turn = isOlder ? ", with its turn from \(instant(backlog.queuedAt))" : ""
            return "waits in the backlog of \(backlog.name) since \(instant(line.updatedAt))\(turn)\(because(line))"
                + refusal(at: backlog.name) + brake(on: backlog.name)
        }
        return switch line.reason {
        case Wait.Reason.paused.rawValue?:
            "waits for the end of the user's pause, \(due(line))"
        case Wait.Reason.quietHours.rawValue?:
            "waits for the end of the user's quiet hours, \(due(line))" + quietHoursNow
        case Wait.Reason.burst.rawValue?:
            "waits, as one of several, of which the newest is sent at \(due(line))"
        case Wait.Reason.digest.rawValue?:
            "is gathered for the digest of \(due(line))\(companions(line, none: ", alone so far"))"
        default: "waits until \(due(line))\(because(line))"
        }
    }

    /// A note if the user has turned quiet hours off during the wait, because that does not shorten it.
    private var quietHoursNow: String {
        guard let quietHours, !quietHours.enabled || quietHours.startHour == quietHours.endHour else { return "" }
        return "; they are off by now, and the rules run again at that time"
    }

    /// Returns the reason that a provider with an open breaker gave.
    private func refusal(at backlog: String) -> String {
        guard let part = OutletScope(backlog) else { return "" }
        let open = breakers.first { breaker in
            breaker.key.provider == part.provider
                && (breaker.key.platform == nil || breaker.key.platform == part.platform)
        }
        return open.map { "; \($0.key.provider) answers: \(Self.words(of: $0.reason))" } ?? ""
    }

    /// Returns the holds on a delivery at this moment, with operator and reason, whatever reason put it into the
    /// backlog.
    private func brake(on backlog: String) -> String {
        guard let part = OutletScope(backlog) else { return "" }
        let type = part.type ?? story.record?.notification.content.type
        let holds = holds.filter { $0.scope.covers(part.app, provider: part.provider, type: type) }
        return holds.map { hold in
            "; \(hold.operator) holds \(hold.scope.words) since \(instant(hold.placedAt)): \(hold.because) "
                + "(bellhop hold release \(hold.number))"
        }.joined()
    }

    private func due(_ line: DeliveryHistory) -> String {
        line.dueAt.map(instant) ?? "an unknown time"
    }

    /// Returns the time at which the delivery's device was revoked, such as after the provider reported it gone, or that
    /// it is active again.
    private func end(of line: DeliveryHistory) -> String {
        guard let device = story.devices.first(where: { $0.subscription == line.target }) else { return "" }
        if let revokedAt = device.revokedAt { return "; the device was ended at \(instant(revokedAt))" }
        guard line.reason.flatMap(VerdictReason.init(rawValue:))?.endsDevice == true else { return "" }
        return "; the device is active: it was registered again, or restored after a mass failure of the provider"
    }

    private func again(_ line: DeliveryHistory) -> String {
        line.dueAt.map { "; released again at \(instant($0))" } ?? ""
    }

    private func inDigest(_ line: DeliveryHistory) -> String {
        line.digest.map { " in the digest of \(instant($0))\(companions(line, none: ", alone"))" } ?? ""
    }

    private func companions(_ line: DeliveryHistory, none: String) -> String {
        switch line.digestCompanions {
        case 0: none
        case 1: ", with one other"
        default: ", with \(line.digestCompanions) others"
        }
    }

    private func identity(_ line: DeliveryHistory) -> String {
        line.providerMessageID.map { ", as \($0)" } ?? ""
    }

    private func because(_ line: DeliveryHistory) -> String {
        line.reason.map { ": \(Self.words(of: $0))" } ?? ""
    }

    /// Returns a ledger reason in words, with the reason itself.
    static func words(of reason: String?) -> String {
        guard let reason else { return "no reason is written down" }
        let known = SuppressionReason(rawValue: reason)?.sentence ?? ledgerReasons[reason]
        guard let sentence = known ?? VerdictReason(rawValue: reason)?.words else { return reason }
        return "\(sentence) (\(reason))"
    }

    private static let tooLate = "expired-before-sending"

    /// The ledger's reasons that come neither from a rule nor from a provider.
    private static let ledgerReasons = [
        tooLate: "it had already expired when it came",
        "expired-while-waiting": "it expired while it waited",
        "expired-while-held": "it expired while an operator held it",
        WaitReason.held.rawValue: "an operator's hold stops it",
        HoldAdmin.discarded: "an operator discarded it while it was held",
        "attempts-exhausted": "retry limit reached; stored as a dead letter",
        "payload-refused": "the provider rejects this message permanently; stored as a dead letter",
        "window-full": "the provider has no capacity for it yet, or its budget is used up",
        "lease-over": "too little of the lease was left; deferred",
        "breaker": "the provider rejects our credentials or settings",
        "provider-rests": "the provider requested a pause",
        "receipt-missing": "accepted by the provider, but no receipt arrived",
    ]
}
