import BellhopRules
import Operations
import Store

extension Explanation {
    /// The explanation as text: the answer, the events in order, the settings, and the rules' present decision.
    var text: String {
        var text = WrappedText()
        writeSubject(into: &text)
        text.section("The answer")
        for sentence in answer { text.item(sentence) }
        writeTimeline(into: &text)
        if story.erasure == nil || story.settings.changedAt != nil { writeSettings(into: &text) }
        if let following = story.following { writeFollow(following, into: &text) }
        writeToday(into: &text)
        return text.text
    }

    private func writeSubject(into text: inout WrappedText) {
        let recipient = story.key.recipient
        if let content = story.record?.notification.content {
            text.add("", "\(story.key.notification), \(content.type), priority \(content.priority.rawValue)")
            text.add("", "\"\(content.title)\"")
        } else if let type = story.plan?.type {
            text.add("", type)
        }
        let event = story.event.map { "event \($0) " } ?? ""
        text.add("", "\(event)for \(recipient.user) of \(recipient.app)")
        let local = clock.local(now).map { "; \($0) by the user's clock" } ?? "; the user's clock is not known"
        text.add("", "now \(now.toTheSecond) UTC\(local)" + (clock.zone.map { ", \($0.name)" } ?? ""))
    }

    private func writeTimeline(into text: inout WrappedText) {
        text.section("Last changes, in UTC (and by the user's clock)")
        var isPast = true
        for moment in timeline {
            if isPast, moment.instant > now {
                text.add("", "Still ahead")
                isPast = false
            }
            let brief = clock.brief(moment.instant)
            text.add("  \(moment.instant.toTheSecond) \(brief)".filled(to: 29), moment.words)
        }
    }

    func writeSettings(into text: inout WrappedText) {
        let settings = story.settings
        let recipient = settings.recipient
        text.section("The user's settings now")
        guard settings.changedAt != nil || settings.preferencesChangedAt != nil || !story.devices.isEmpty else {
            return text.item("nothing is stored: the app's defaults hold, and no device is known")
        }
        func add(_ label: String, _ words: String) { text.add(label, width: 12, words) }
        add("language", recipient.locale?.text ?? "the app's")
        add("pushes", recipient.pushEnabled ? "on" : "off for all devices")
        add("e-mail", (recipient.emailEnabled ? "on" : "off") + (recipient.email == nil ? ", no address" : ""))
        add(story.record == nil ? "types" : "type", typeChoice)
        if let pausedUntil { add("paused", "until \(clock.both(pausedUntil))") }
        if let quietHours { add("quiet hours", quietHours.words) }
        for (label, changedAt) in [("changed", settings.changedAt), ("types set", settings.preferencesChangedAt)] {
            if let changedAt { add(label, instant(changedAt) + since(changedAt)) }
        }
        for device in story.devices { add("device", Self.words(of: device, instant)) }
        if story.devices.isEmpty { add("devices", "none") }
    }

    private func writeFollow(_ following: NotificationHistory.Following, into text: inout WrappedText) {
        text.section("How the user follows \(following.topic) now")
        guard let follow = following.follow else { return text.item("no follow is stored") }
        if let removedAt = follow.removedAt { return text.item("no longer, since \(instant(removedAt))") }
        let facts = following.facts(for: story.key.recipient, with: story.settings.recipient.devices)
        text.item("since \(instant(follow.since)), as \(facts.role?.text ?? "a plain follower")")
        text.item(facts.isMuted ? "muted" : "not muted")
        guard let devices = facts.devices else { return text.item("with all devices") }
        if devices.isEmpty { text.item("with a device that is not registered") }
        for device in devices.sorted() { text.item("with \(name(ofDevice: device))") }
    }

    /// Returns a note if the setting was changed after the notification was recorded, so that it cannot have affected
    /// the decision.
    private func since(_ changedAt: Timestamp) -> String {
        guard let recordedAt = story.record?.notification.createdAt, changedAt > recordedAt else { return "" }
        return ": after the notification was recorded"
    }

    private static func words(of device: KnownDevice, _ instant: (Timestamp) -> String) -> String {
        let permission = device.permission.map { "permission \($0)" } ?? "permission not known"
        let name = "\(device.platform) through \(device.provider) (\(device.subscription))"
        guard let revokedAt = device.revokedAt else {
            return "\(name), \(permission), seen \(instant(device.lastSeenAt))"
        }
        let reason = device.revokeReason.map { ": \($0)" } ?? ""
        return "\(name), ended \(instant(revokedAt))\(reason)"
    }

    private func writeToday(into text: inout WrappedText) {
        switch today {
        case .notAsked(let why): text.section("The rules are not asked: \(why)")
        case .decided(let decision, let steps):
            text.section("The rules, if they were asked now")
            if !decision.isRecorded { text.item("nothing of it would be kept, not even in the app") }
            RuleList(steps: steps, clock: clock).write(into: &text, name: name(ofDevice:))
        }
    }
}

extension QuietHours {
    /// The hours as `22 to 7`, or `off`.
    fileprivate var words: String {
        enabled && startHour != endHour ? "\(startHour) to \(endHour)" : "off"
    }
}
