import BellhopRules
import Operations
import ServiceRuntime
import Store

extension UserOverview {
    /// The overview as text: the settings, the holds, and the latest notifications with their outcomes.
    var text: String {
        var text = WrappedText()
        let key = user.story.key.recipient
        text.add("", "User \(key.user) of \(key.app)")
        let local = user.clock.local(user.now).map { "; \($0) by the user's clock" } ?? ""
        text.add("", "now \(user.now.toTheSecond) UTC\(local)")
        for sentence in [user.unknownApp, user.unannounced, unseen].compactMap({ $0 }) { text.add("", sentence) }
        if let end = user.pausedUntil { text.add("", "Notifications are paused until \(user.clock.both(end)).") }
        if let quietUntil { text.add("", "Quiet hours apply now, until \(user.clock.both(quietUntil)).") }
        if let erasure = user.story.erasure {
            text.add("", "The user was erased at \(erasure.erasedAt.toTheSecond) UTC.")
        }
        user.writeSettings(into: &text)
        writeFollows(into: &text)
        writeHolds(into: &text)
        writeKept(into: &text)
        writeNotifications(into: &text)
        writeDeadLetters(into: &text)
        if !notifications.isEmpty || !kept.isEmpty {
            text.add("", "")
            text.add("", "One in detail: bellhop explain --app \(key.app) --user \(key.user) --event EVENT")
        }
        return text.text
    }

    private func writeFollows(into text: inout WrappedText) {
        guard !follows.topics.isEmpty else { return }
        text.section("Topics that the user follows")
        for one in follows.topics {
            let marks = [
                one.follow.isMuted ? "muted" : nil, one.follow.role.map { "as \($0.text)" },
                one.follow.isOfSomeDevices ? "some devices only" : nil,
            ].compactMap { $0 }
            text.item(([one.topic] + marks).joined(separator: ", "))
        }
        let others = follows.count - follows.topics.count
        if others > 0 { text.item("and \(follows.isCapped ? "at least " : "")\(others.grouped) more") }
    }

    private func writeHolds(into text: inout WrappedText) {
        guard !holds.isEmpty else { return }
        text.section("Holds on the app")
        for hold in holds {
            let since = HumanText.ago(hold.placedAt, user.now)
            text.item("\(hold.scope.words): \(hold.because) (\(hold.operator), \(since))")
        }
    }

    private func writeKept(into text: inout WrappedText) {
        guard !kept.isEmpty else { return }
        text.section("Events for the user that are stored for later, the next one first")
        for event in kept {
            text.item("\(event.dueAt.toTheSecond)  \(event.type ?? "unknown type"), event \(event.event)")
        }
    }

    private func writeNotifications(into text: inout WrappedText) {
        text.section(
            notifications.isEmpty ? "No notification is recorded" : "The latest notifications, in UTC, the newest first"
        )
        for explanation in notifications {
            guard let record = explanation.story.record else { continue }
            let content = record.notification.content
            let state = record.readAt == nil ? "unread" : "read"
            let event = explanation.story.event.map { ", event \($0)" } ?? ""
            text.item("\(record.notification.createdAt.toTheSecond)  \(content.type)\(event), \(state)")
            for line in explanation.deliveryLines { text.add("    ", line, hanging: 2) }
        }
    }

    private func writeDeadLetters(into text: inout WrappedText) {
        guard !deadLetters.isEmpty else { return }
        text.section("Dead letters that name the user")
        for letter in deadLetters {
            let event = letter.cause.eventID.map { ", event \($0)" } ?? ""
            text.item(
                "\(letter.lastFailedAt.toTheSecond)  \(letter.cause.reason)\(event), \(letter.state.rawValue): "
                    + "\(letter.cause.error) (bellhop dead-letters show \(letter.deadID))"
            )
        }
    }
}
