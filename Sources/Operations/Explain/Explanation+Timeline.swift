package import BellhopRules
import Store

extension Explanation {
    /// A past or future event.
    package struct Moment: Sendable {
        package let instant: Timestamp
        package let words: String
    }

    /// Everything with a time, in order.
    ///
    /// Future moments therefore come last.
    package var timeline: [Moment] {
        let moments = eventMoments + letterMoments + recordMoments + lineMoments + erasureMoments
        return moments.enumerated().sorted { ($0.element.instant, $0.offset) < ($1.element.instant, $1.offset) }
            .map(\.element)
    }

    private var eventMoments: [Moment] {
        guard let plan = story.plan else { return [] }
        var moments: [Moment] = []
        func add(_ instant: Timestamp?, _ words: String) {
            if let instant { moments.append(Moment(instant: instant, words: words)) }
        }
        add(plan.sentAt, Self.sentWords)
        if plan.type != nil { add(plan.keptAt, "event stored, \(Self.words(of: plan))") }
        if plan.cancelledAt == nil || plan.expandedAt != nil { add(plan.deliverAt, "due") }
        add(plan.handedOverAt, "taken by a scheduler")
        add(plan.expandedAt, "published")
        guard plan.closing == nil else {
            add(plan.cancelledAt, "closed: it was not expanded in time")
            return moments
        }
        add(plan.cancelledAt, plan.type == nil ? "cancelled before it arrived" : "cancelled by its producer")
        return moments
    }

    private static let sentWords = "the producer says it sent the event"

    private static func words(of plan: NotificationHistory.Plan) -> String {
        let audience =
            switch plan.audience {
            case .named(let count, _)?: count == 1 ? "for one user" : "for \(count) users"
            case .topic(let topic)?: "for the followers of \(topic)"
            case .everyone?, nil: "for everyone"
            }
        return audience + (plan.deliverAt == nil ? "" : ", for later")
    }

    private var letterMoments: [Moment] {
        story.deadLetters.map { letter in
            let title = letter.isUnfailedCopy ? "correction" : "dead letter"
            return Moment(instant: letter.lastFailedAt, words: "\(title): \(letter.words)")
        }
    }

    private var recordMoments: [Moment] {
        guard let record = story.record else { return [] }
        var moments = [Moment(instant: record.notification.createdAt, words: "recorded in the app")]
        if let sentAt = record.notification.content.sentAt, story.plan?.sentAt == nil, delay != nil {
            moments.append(Moment(instant: sentAt, words: Self.sentWords))
        }
        if let successor = record.successor {
            moments.append(Moment(instant: successor.createdAt, words: "\(successor.id) took its place"))
        }
        if let readAt = record.readAt { moments.append(Moment(instant: readAt, words: "read in the app")) }
        if let expiresAt = record.notification.content.expiresAt, expiryMatters(expiresAt) {
            moments.append(Moment(instant: expiresAt, words: "expires: no longer pushed"))
        }
        return moments
    }

    /// Whether expiry has ended a delivery or still can.
    ///
    /// It does not affect deliveries that have succeeded.
    private func expiryMatters(_ expiresAt: Timestamp) -> Bool {
        story.lines.contains { $0.state?.isOwed == true || ($0.state == .expired && expiresAt <= now) }
    }

    /// The time of each delivery's last update, and the time at which it is due again.
    ///
    /// The answer describes them in words.
    private var lineMoments: [Moment] {
        story.lines.flatMap { line in
            let state = [line.state?.rawValue ?? "unknown state", line.reason].compactMap { $0 }
            let words = "\(name(of: line)): \(state.joined(separator: ", "))"
            // Record and deliveries are written in one statement, but their timestamps may differ by a microsecond.
            let instant = max(line.updatedAt, story.record?.notification.createdAt ?? line.updatedAt)
            let written = Moment(instant: instant, words: words)
            guard let dueAt = line.dueAt, line.state?.isOwed == true else { return [written] }
            return [written, Moment(instant: dueAt, words: "evaluated again: \(name(of: line))")]
        }
    }

    private var erasureMoments: [Moment] {
        guard let erasure = story.erasure else { return [] }
        let erased = Moment(instant: erasure.erasedAt, words: "the user was erased")
        return [erased] + (erasure.returnedAt.map { [Moment(instant: $0, words: "the user was fed again")] } ?? [])
    }
}
