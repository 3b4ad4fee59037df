import BellhopRules
import Store

/// Whether the user belonged to the audience of a fan-out, and how late the notification came.
extension Explanation {
    /// Describes a fan-out of the event that has not recorded anything for the user.
    func progress(of fanout: NotificationHistory.Fanout, _ plan: NotificationHistory.Plan) -> String {
        let begun = "Its fan-out to \(Self.words(plan.audience)) began at \(instant(fanout.startedAt))"
        let ended = fanout.endedAt.map { " at \(instant($0))" } ?? ""
        let outside = exclusion(from: fanout)
        let reached = outside ?? "\(user) is not reached yet"
        return switch fanout.state {
        case .running: "\(begun) and is in progress: \(reached)."
        case .paused: "\(begun) and is paused: see bellhop fanouts" + (outside.map { "; \($0)." } ?? ".")
        case .cancelled:
            "\(begun) and was cancelled\(ended)" + (outside.map { ": \($0)." } ?? ", before \(user) was reached.")
        case .finished: "\(begun) and was finished\(ended): \(outside ?? insider(plan.audience))."
        }
    }

    private var user: String { story.key.recipient.user.text }

    private static func words(_ audience: NotificationHistory.Audience?) -> String {
        if case .topic(let topic)? = audience { return "the followers of \(topic)" }
        return "everyone"
    }

    /// The reason why the user did not belong to the audience, or `nil` if the user did.
    private func exclusion(from fanout: NotificationHistory.Fanout) -> String? {
        guard let following = story.following else {
            guard let knownSince = story.settings.knownSince else {
                return "\(user) does not belong to everyone, because no recipient.upserted about \(user) has arrived"
                    + (everyone.map { " (\($0.text))" } ?? "")
            }
            guard knownSince > fanout.startedAt else { return nil }
            return "\(user) was unknown then, because the first recipient.upserted arrived at \(instant(knownSince))"
        }
        guard let follow = following.follow else { return "\(user) does not follow \(following.topic)" }
        if let removedAt = follow.removedAt, fanout.endedAt.map({ removedAt <= $0 }) ?? true {
            return "\(user) has not followed \(following.topic) since \(instant(removedAt))"
        }
        guard follow.storedAt > fanout.startedAt else { return nil }
        return "\(user) follows \(following.topic) only since \(instant(follow.storedAt))"
    }

    /// The possible causes if the user belonged to the audience of a finished fan-out.
    private func insider(_ audience: NotificationHistory.Audience?) -> String {
        let belonged = if case .topic(let topic)? = audience { "followed \(topic) then" } else { "was known then" }
        return "\(user) \(belonged), so that a rule excluded \(user), or the notification was deleted since"
    }

    /// The delay between the producer's timestamp and the record, if it is noticeable.
    ///
    /// An event that is stored for later counts from its planned time.
    var delay: String? {
        guard let notification = story.record?.notification, let sentAt = notification.content.sentAt else {
            return nil
        }
        let from = max(sentAt, story.plan?.deliverAt ?? sentAt)
        let late = notification.createdAt.microseconds - from.microseconds
        guard late >= Self.noticeableDelay else { return nil }
        let begin = from == sentAt ? "Its producer sent it" : "It was due"
        return "\(begin) at \(instant(from)), and it was recorded \(Duration.microseconds(late).roughly) later."
    }

    /// The shortest delay that is mentioned, in microseconds: clocks and batches explain shorter ones.
    private static let noticeableDelay: Int64 = 10_000_000
}
