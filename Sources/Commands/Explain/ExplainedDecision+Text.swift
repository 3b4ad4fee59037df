import BellhopRules
import Operations

extension ExplainedDecision {
    /// Returns the decision as text: the answer first, then every evaluated rule.
    func text(_ rendered: (words: RenderedContent, language: LanguageTag?)) -> String {
        var text = WrappedText()
        text.add("", "\(event.type) of \(event.app), priority \(type.priority.rawValue), event \(event.id)")
        writeTime(into: &text)
        if !hadCanonicalPreferences {
            text.add("", "the preferences were completed and corrected, as they are when they are fed")
        }
        text.section("In the app: " + (decision.isRecorded ? "yes" : "no, nothing of it is kept"))
        if decision.isRecorded { write(rendered, into: &text) }
        text.section("Push")
        writeDevices(into: &text)
        text.section("E-mail")
        text.item(decision.email?.sentence(clock) ?? "this type is not mailed")
        text.section("The rules, in the order in which they were asked")
        RuleList(steps: steps, clock: clock).write(into: &text, name: name)
        return text.text
    }

    private func writeTime(into text: inout WrappedText) {
        if facts.now > asked {
            text.add("", "kept until its deliverAt, \(clock.both(facts.now)), and decided then")
        } else {
            text.add("", "decided at \(clock.both(facts.now))")
        }
        let own = facts.recipient.timezone
        switch (clock.zone?.name, own) {
        case (nil, _): text.add("", "no clock: the tz database knows neither the user's zone nor the app's")
        case (let name?, let own?) where name != own:
            text.add("", "the tz database has no \(own): the app's clock counts, \(name)")
        case (let name?, nil): text.add("", "the user has no zone: the app's clock counts, \(name)")
        case (let name?, _): text.add("", "by the user's own clock, \(name)")
        }
        if let expiresAt = facts.expiresAt { text.add("", "not pushed from \(clock.both(expiresAt)) on") }
    }

    private func write(_ rendered: (words: RenderedContent, language: LanguageTag?), into text: inout WrappedText) {
        let (words, language) = rendered
        text.add("language", width: 9, language.map { "\($0)" } ?? "the producer's texts")
        text.add("title", width: 9, words.title)
        if !words.body.isEmpty { text.add("body", width: 9, words.body) }
        guard let link = words.link else { return text.add("link", width: 9, "none") }
        text.add("web", width: 9, link.web)
        text.add("mobile", width: 9, link.mobile)
        if let scheme = link.scheme { text.add("scheme", width: 9, scheme) }
        if words.reroutedFrom != nil { text.add("", width: 9, "the event's route leads elsewhere by now") }
    }

    private func writeDevices(into text: inout WrappedText) {
        let devices = facts.recipient.devices
        if let outcome = decision.push {
            let scope = devices.count > 1 ? "all \(devices.count) devices: " : ""
            text.item(scope + outcome.sentence(clock))
            return
        }
        for device in devices {
            guard let outcome = outcome(of: device) else { continue }
            text.item("\(name(device.subscription)): \(outcome.sentence(clock))")
        }
    }

    /// Returns a name such as `device 1, ios through expo`.
    private func name(_ subscription: String) -> String {
        guard let device = facts.recipient.devices.first(where: { $0.subscription == subscription }) else {
            return "device \(subscription)"
        }
        return "device \(subscription), \(device.platform.rawValue) through \(device.provider.rawValue)"
    }
}
