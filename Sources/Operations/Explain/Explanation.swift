package import BellhopRules
import Pipeline
import ServiceRuntime
package import Settings
package import Store

/// A notification's story with the rules' present decision about it.
package struct Explanation: Sendable {
    package let story: NotificationHistory
    package let now: Timestamp
    package let clock: UserClock
    package let today: CurrentDecision
    /// The operators' holds on the app.
    let holds: [OperatorHold]
    /// Open breakers: the app's providers that reject our credentials or settings.
    let breakers: [OpenBreaker]
    /// The user's quiet hours.
    ///
    /// They are `nil` if the user never set any and the app's own are unknown.
    package let quietHours: QuietHours?

    /// The end of the user's pause; `nil` if notifications are not paused now.
    package var pausedUntil: Timestamp? {
        story.settings.recipient.preferences?.pausedUntil.flatMap { $0 > now ? $0 : nil }
    }

    /// The present size of everyone, if an event for everyone has not reached the user.
    let everyone: EveryoneCount?

    /// The workers without heartbeats, if nothing is recorded of the event: they may have its message.
    let silentWorkers: [LiveProcess]

    /// The sentence that no catalogue describes the app; `nil` if one does, or if none can be read.
    package let unknownApp: String?

    /// The decision that the rules would make now.
    package enum CurrentDecision: Sendable {
        case decided(Decision, steps: [RuleStep])
        case notAsked(because: String)
    }

    /// Creates an explanation.
    ///
    /// `catalogs` is `nil` if none can be read, so that the rules cannot be evaluated.
    package init(
        _ story: NotificationHistory,
        holds: [OperatorHold] = [],
        breakers: [OpenBreaker] = [],
        everyone: EveryoneCount? = nil,
        silentWorkers: [LiveProcess] = [],
        catalogs: CatalogSet?,
        zones: ZoneLibrary,
        now: Timestamp
    ) {
        self.story = story
        self.everyone = everyone
        self.silentWorkers = silentWorkers
        self.breakers = breakers.filter { $0.key.app == story.key.recipient.app }
        self.holds = holds.filter { $0.scope.app == story.key.recipient.app }
        self.now = now
        let catalog = catalogs?[story.key.recipient.app]
        unknownApp = catalog == nil ? catalogs?.sentence(without: story.key.recipient.app) : nil
        let recipient = story.settings.recipient
        clock = UserClock(zone: recipient.timezone.flatMap { zones[$0] } ?? catalog.flatMap { zones[$0.timezone] })
        let usual = catalog?.settings.quietHours
        quietHours = recipient.preferences.map { $0.quietHours(otherwise: usual ?? .usual) } ?? usual
        guard catalogs != nil else {
            today = .notAsked(because: "the catalogues (BELLHOP_CATALOGS) are not set or have a fault")
            return
        }
        guard let catalog else {
            today = .notAsked(because: "no catalogue describes \(story.key.recipient.app)")
            return
        }
        guard let name = story.record?.notification.content.type ?? story.missedType else {
            let later = story.mayStillBeRecorded ? " yet; the rules are evaluated when it is recorded" : ""
            today = .notAsked(because: "nothing is recorded for the user\(later)")
            return
        }
        guard let type = catalog[name] else {
            today = .notAsked(because: "the catalogue does not know \(name)")
            return
        }
        // The same facts that the worker uses when it records a page, or when a delivery is due again.
        var facts = DecisionFacts(catalog: catalog, type: type, recipient: recipient, now: now) { zones[$0] }
        facts.follow = story.following?.facts(for: story.key.recipient, with: recipient.devices)
        if let notification = story.record?.notification {
            facts.expiresAt = notification.content.expiresAt
            facts.isNeverMailed = notification.content.isNeverMailed
            facts.history.isRead = notification.isRead
            facts.history.isSuperseded = notification.isSuperseded
            facts.history.digest = story.lines.compactMap(\.digest).min()
        }
        let (decision, steps) = Decision.explained(facts)
        today = .decided(decision, steps: steps)
    }

    /// Returns a name such as `ios through expo (sub_…)`, or the bare id if the device no longer exists.
    package func name(ofDevice subscription: String) -> String {
        guard let device = story.devices.first(where: { $0.subscription == subscription }) else { return subscription }
        return "\(device.platform) through \(device.provider) (\(subscription))"
    }

    /// Returns the destination of a delivery: `push to ios through expo (sub_…)`, `e-mail`, or `push` if no device was
    /// eligible.
    func name(of line: DeliveryHistory) -> String {
        guard line.channel == Channel.push.rawValue else { return "e-mail" }
        return line.target == NewDelivery.nobody ? "push" : "push to \(name(ofDevice: line.target))"
    }
}

extension CatalogSet {
    /// The limit of the apps that a sentence names.
    private static let mostNamed = 10

    /// States that an app is in no catalogue, and which ones are: usually its name is misspelt.
    fileprivate func sentence(without app: AppID) -> String {
        let names = catalogs.map(\.app.text).sorted()
        let others = names.count > Self.mostNamed ? " and \((names.count - Self.mostNamed).of("other"))" : ""
        let known = names.prefix(Self.mostNamed).joined(separator: ", ")
        return "No app \"\(app)\" is in the catalogues; known: \(known)\(others)."
    }
}

extension NotificationHistory {
    /// The type of an event that has passed the user by: its fan-out is finished, and the user is or was in its
    /// audience.
    ///
    /// The rules then show why nothing was recorded, such as for an observer of a topic whose type is for owners.
    fileprivate var missedType: EventType? {
        guard let plan, plan.fanout?.state == .finished, plan.cancelledAt == nil else { return nil }
        if case .topic? = plan.audience, following?.follow == nil { return nil }
        if case .everyone? = plan.audience, settings.knownSince == nil { return nil }
        return plan.type.flatMap(EventType.init(validating:))
    }

    /// Whether the event may still reach the user: it was not cancelled, has not ended, and may be for this user.
    fileprivate var mayStillBeRecorded: Bool {
        guard let plan else { return true }
        if case .named(_, includesUser: false)? = plan.audience { return false }
        return plan.cancelledAt == nil && plan.fanout?.endedAt == nil
    }
}
