package import BellhopRules
import Store

extension Explanation {
    /// The answer, in as few sentences as possible.
    package var answer: [String] {
        if story.isUnknown { return [unknown] }
        return (story.record.map(possession) ?? absence) + [unannounced, unknownApp].compactMap { $0 }
    }

    private var absence: [String] {
        let sentences = [planned, missed, refused, erased].compactMap { $0 }
        return sentences.isEmpty ? ["Not in the app."] : sentences
    }

    private func possession(_ record: NotificationHistory.Record) -> [String] {
        var sentences = ["In the app since \(instant(record.notification.createdAt)), \(reading(record))."]
        if let delay { sentences.append(delay) }
        if let successor = record.successor {
            sentences.append("\(successor.id), with the same collapse key, has taken its place.")
        }
        if story.lines.isEmpty { sentences.append("No push or e-mail was planned.") }
        sentences += story.lines.map { "\(name(of: $0).capitalizedFirst): \(sentence(of: $0))." }
        return sentences + [unplannedMail, outlook, refused].compactMap { $0 }
    }

    /// Explains the absence of an e-mail that the rules would send now.
    ///
    /// An e-mail that is not sent has no row in the ledger.
    private var unplannedMail: String? {
        guard case .decided(let decision, _) = today, decision.email == .send,
            !story.lines.contains(where: { $0.channel == Channel.email.rawValue })
        else { return nil }
        return "E-mail: none was planned, although the rules would send one now: at that time the workers had no mail "
            + "relay for \(story.key.recipient.app) (email in BELLHOP_PROVIDERS), or the settings were different."
    }

    /// The expected end of open deliveries, if the rules would suppress, expire or drop them now.
    ///
    /// An open delivery may still never be sent.
    private var outlook: String? {
        guard story.lines.contains(where: { $0.state?.isOwed == true }), case .decided(let decision, _) = today else {
            return nil
        }
        switch decision.push {
        case .suppress, .expire, .drop: break
        case .send, .wait, nil: return nil
        }
        return decision.push.map { "By the present settings, nothing more of it will be sent: \($0.sentence(clock))." }
    }

    private var unknown: String {
        // A user without data is probably the user of a misspelt app.
        guard let unknownApp else { return unknownSubject }
        return isUserUnknown ? unknownApp : "\(unknownSubject). \(unknownApp)"
    }

    private var unknownSubject: String {
        let user = "\(story.key.recipient.user) of \(story.key.recipient.app)"
        guard let event = story.event else {
            return "\(story.key.notification) is unknown for \(user); use --event, which also finds events that "
                + "are kept for later or were rejected"
        }
        let search = "bellhop dead-letters list --event \(event)"
        let absence =
            "Bellhop has no record of event \(event) for \(user): it was for other users or for another app, it has not "
            + "arrived or is still in its lane, the user muted it and its type keeps nothing then, or it was rejected "
            + "(\(search))" + (isUserUnknown ? "; the user is unknown, too" : "")
        return ([absence] + [holder, nameless].compactMap { $0 }).joined(separator: ". ")
    }

    /// Names the silent workers, which may hold the event without a trace in the database.
    private var holder: String? {
        silentPlaces.map { "It may be held by \($0); it is delivered to another worker when that one is replaced" }
    }

    /// The silent workers, each with the time of its last heartbeat; `nil` if there are none.
    var silentPlaces: String? {
        guard !silentWorkers.isEmpty else { return nil }
        return silentWorkers.prefix(3).map { seen in
            let own = seen.report.identity
            return "worker \(own.host)[\(own.process)], which has been silent since \(seen.seenAt.toTheSecond) UTC"
        }
        .joined(separator: ", or by ")
    }

    /// Names the user's dead letters whose event id is not legible, since one of them may be the event.
    private var nameless: String? {
        guard let letter = story.namelessDeadLetters.first else { return nil }
        let key = story.key.recipient
        let count = story.namelessDeadLetters.count
        let subject = count == 1 ? "A rejected message" : "\(count) rejected messages"
        let list = "bellhop dead-letters list --app \(key.app) --user \(key.user) --state all"
        return "\(subject) for this user had no legible id and may be it: \(letter.words); see \(list)"
    }

    /// Whether no feed message about the user has ever arrived.
    var isUserUnknown: Bool {
        story.settings.changedAt == nil && story.settings.preferencesChangedAt == nil && story.devices.isEmpty
    }

    /// States that the app has announced nothing about a user with data; `nil` if it has, or if the user was erased.
    package var unannounced: String? {
        guard isUserUnknown, story.erasure == nil, unknownApp == nil else { return nil }
        let key = story.key.recipient
        return "\(key.app) has announced neither settings nor a device of user \(key.user): check the id."
    }

    private func reading(_ record: NotificationHistory.Record) -> String {
        record.readAt.map { "read at \(instant($0))" } ?? "not read"
    }

    private var planned: String? {
        guard let plan = story.plan else { return nil }
        if let cancelledAt = plan.cancelledAt, let closing = plan.closing {
            return "It was closed at \(instant(cancelledAt)) and reaches no user: \(closing.words)."
        }
        if let cancelledAt = plan.cancelledAt {
            let order = plan.type == nil ? ", before it arrived" : ""
            return "Its producer took it back at \(instant(cancelledAt))\(order): it reaches no user."
        }
        if case .named(let count, includesUser: false)? = plan.audience {
            return "It is for \(count == 1 ? "another user" : "\(count) users"), and this user is not among them."
        }
        if plan.expandedAt == nil, let deliverAt = plan.deliverAt, deliverAt > now {
            return "It is kept for later: it is due at \(instant(deliverAt))."
        }
        if let fanout = plan.fanout { return progress(of: fanout, plan) }
        if let expandedAt = plan.expandedAt {
            return
                "It was published at \(instant(expandedAt)), and is not recorded for this user: it waits in its lane, "
                + "it was refused, or the rules keep nothing of it."
        }
        switch plan.audience {
        case .topic(let topic)?: return "It waits to be expanded to the followers of \(topic)."
        case .everyone?: return "It waits to be expanded to every user of the app."
        case .named?, nil: return "It is due, and not published yet: does a scheduler run?"
        }
    }

    /// The rule that keeps nothing of the event for the user, if a finished fan-out has recorded nothing.
    private var missed: String? {
        guard case .decided(let decision, let steps) = today, story.record == nil else { return nil }
        guard decision.absence != nil, case .suppress(let reason)? = decision.push, let step = steps.last else {
            return "By the present settings, the rules would keep it: see what has changed since."
        }
        return "By the present settings, the rules keep nothing of it: \(reason.sentence) (\(reason.rawValue)); "
            + "\(step.finding)."
    }

    private var refused: String? {
        guard let letter = story.deadLetters.last else { return nil }
        if letter.isUnfailedCopy { return Self.correction(letter) }
        let count = story.deadLetters.filter { !$0.isUnfailedCopy }.count
        let others = count > 1 ? " (the last of \(count))" : ""
        if story.record != nil, letter.cause.reason == RejectionReason.idConflict.rawValue {
            return "Another message with the same id and other content was rejected\(others): \(letter.words)."
        }
        return switch letter.state {
        case .open: "It is in the dead letters\(others): \(letter.words)."
        case .replaying: "It is in the dead letters\(others) and being replayed: \(letter.words)."
        case .resolved where letter.replays > 0: "It was a dead letter\(others) and has been replayed: \(letter.words)."
        case .resolved: "Its dead letter\(others) is resolved: \(letter.words)."
        case .discarded: "Its dead letter\(others) was discarded: \(letter.words)."
        }
    }

    /// Returns the state of a corrected copy, which has not failed and must not look like another failure.
    private static func correction(_ letter: DeadLetterSummary) -> String {
        let original = letter.editedFrom.map { "Its dead letter \($0)" } ?? "Its dead letter"
        let copy = "\(original) was corrected, and the corrected copy \(letter.deadID)"
        return switch letter.state {
        case .open: "\(copy) is not sent: see bellhop dead-letters show \(letter.deadID)."
        case .replaying: "\(copy) is being sent."
        case .resolved: "\(copy) was sent" + (letter.resolution.map { ": \($0)." } ?? ".")
        case .discarded: "\(copy) was discarded."
        }
    }

    private var erased: String? {
        guard let erasure = story.erasure else { return nil }
        let returned = erasure.returnedAt.map { "; fed again at \(instant($0))" } ?? ""
        return "The user was erased at \(instant(erasure.erasedAt)), with everything of theirs\(returned)."
    }

    /// Returns an instant such as `2026-11-22 06:00:00 UTC (07:00)`.
    package func instant(_ instant: Timestamp) -> String {
        let brief = clock.brief(instant)
        return "\(instant.toTheSecond) UTC" + (brief.isEmpty ? "" : " \(brief)")
    }
}

extension DueEvent.Closing {
    /// The cause in words, with the reason code.
    var words: String {
        switch self {
        case .expired: "it had expired before anybody expanded it (\(rawValue))"
        case .tooOld: "it was not expanded in time (\(rawValue))"
        }
    }
}

extension DeadLetterSummary {
    /// Stage, reason, place, error and id; for a corrected copy that has not failed, its original and its id.
    var words: String {
        if isUnfailedCopy { return "\(cause.error) (\(stateWords), \(deadID))" }
        let times = copies > 1 ? ", seen \(copies) times" : ""
        let copy = copyWords.map { ", \($0)" } ?? ""
        return "\(cause.stage.rawValue), \(cause.words) (\(stateWords)\(times), \(deadID)\(copy))"
    }
}

extension String {
    fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
