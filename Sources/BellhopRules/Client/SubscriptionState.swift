/// Where one subject that a device may subscribe to (in the wallet: a Safe) stands, from its prompt to its role.
///
/// Each subject has a machine of its own, which begins at `noSafe`; the switch for all of them has another, which
/// begins at `globalNotifications`. An event that has no arrow in a state is refused as a value, and changes nothing.
/// `docs/client-kit.md` draws the arrows.
public enum SubscriptionState: String, CaseIterable, Hashable, Sendable {
    /// Nothing is there to subscribe to.
    case noSafe = "NoSafe"
    /// The first one was added: the user has never been asked.
    case firstSafe = "FirstSafe"
    /// One more was added: the user has answered before.
    case additionalSafe = "AdditionalSafe"
    /// The app asks whether it may notify.
    case prompted = "Prompted"
    /// Yes; the device's token is fetched.
    case promptAccepted = "PromptAccepted"
    /// No, or closed.
    case promptDismissed = "PromptDismissed"
    /// The setting of the app decides.
    case checkNotifSetting = "CheckNotifSetting"
    /// The role depends on whether the device has a key of the subject.
    case hasDelegateKey = "HasDelegateKey"
    /// Nothing is sent; it never was.
    case unsubscribed = "Unsubscribed"
    /// Subscribed with a key: requests to confirm arrive, too.
    case subscribedOwner = "SubscribedOwner"
    /// Subscribed without a key: what happens arrives.
    case subscribedObserver = "SubscribedObserver"
    /// The user has turned it off.
    case notificationsDisabled = "NotificationsDisabled"
    /// The user has turned it on in the settings.
    case settingsToggledOn = "SettingsToggledOn"
    /// The switch for all of them.
    case globalNotifications = "GlobalNotifications"
    /// It was turned on.
    case globalNotifOn = "GlobalNotifOn"
    /// Each one is gone through.
    case iterateSafes = "IterateSafes"
    /// It was turned off.
    case globalNotifOff = "GlobalNotifOff"
    /// All of them were unsubscribed.
    case allUnsubscribed = "AllUnsubscribed"

    /// What happens to a subscription.
    public enum Event: String, CaseIterable, Hashable, Sendable {
        /// The user's first one is added.
        case firstAdded
        /// Another one is added.
        case anotherAdded
        /// The app's own prompt is shown.
        case promptShown
        /// The user accepts it.
        case accepted
        /// The user dismisses it or closes the window.
        case dismissed
        /// The app has done what the state stands for, where only one way leads on.
        case proceeded
        /// The app's setting says no.
        case settingIsOff
        /// The app's setting says yes.
        case settingIsOn
        /// The device has a key of the subject.
        case keyFound
        /// The device has none.
        case keyMissing
        /// The device gets a key later.
        case keyAdded
        /// The user turns this one off.
        case turnedOff
        /// The user turns this one on, here or in the settings.
        case turnedOn
        /// The user turns all of them on.
        case globallyTurnedOn
        /// The user turns all of them off.
        case globallyTurnedOff
    }

    /// Where each subject begins.
    public static let initial = SubscriptionState.noSafe
    /// Where the switch for all of them begins.
    public static let globalInitial = SubscriptionState.globalNotifications

    /// The state that follows; nil where the event has no arrow here.
    public func applying(_ event: Event) -> SubscriptionState? {
        switch self {
        case .noSafe, .firstSafe, .additionalSafe, .prompted, .promptAccepted, .promptDismissed: whileAdding(event)
        case .globalNotifications, .globalNotifOn, .iterateSafes, .globalNotifOff, .allUnsubscribed: globally(event)
        default: later(event)
        }
    }

    /// Goes on to the state that follows, and says whether there was one; stays where there was none.
    @discardableResult
    public mutating func apply(_ event: Event) -> Bool {
        guard let next = applying(event) else { return false }
        self = next
        return true
    }

    /// The role that the subscription has with the server, nil where there is none.
    public var role: FollowRole? {
        switch self {
        case .subscribedOwner: FollowRole(validating: "owner")
        case .subscribedObserver: FollowRole(validating: "observer")
        default: nil
        }
    }

    private func whileAdding(_ event: Event) -> SubscriptionState? {
        switch (self, event) {
        case (.noSafe, .firstAdded): .firstSafe
        case (.noSafe, .anotherAdded): .additionalSafe
        case (.firstSafe, .promptShown): .prompted
        case (.additionalSafe, .proceeded): .checkNotifSetting
        case (.prompted, .accepted): .promptAccepted
        case (.prompted, .dismissed): .promptDismissed
        case (.promptAccepted, .proceeded): .hasDelegateKey
        case (.promptDismissed, .proceeded): .unsubscribed
        default: nil
        }
    }

    private func later(_ event: Event) -> SubscriptionState? {
        switch (self, event) {
        case (.checkNotifSetting, .settingIsOff): .unsubscribed
        case (.checkNotifSetting, .settingIsOn): .hasDelegateKey
        case (.hasDelegateKey, .keyFound): .subscribedOwner
        case (.hasDelegateKey, .keyMissing): .subscribedObserver
        case (.subscribedObserver, .keyAdded): .subscribedOwner
        case (.subscribedOwner, .turnedOff), (.subscribedObserver, .turnedOff): .notificationsDisabled
        case (.unsubscribed, .turnedOn), (.notificationsDisabled, .turnedOn): .settingsToggledOn
        case (.settingsToggledOn, .proceeded): .hasDelegateKey
        default: nil
        }
    }

    private func globally(_ event: Event) -> SubscriptionState? {
        switch (self, event) {
        case (.globalNotifications, .globallyTurnedOn): .globalNotifOn
        case (.globalNotifications, .globallyTurnedOff): .globalNotifOff
        case (.globalNotifOn, .proceeded): .iterateSafes
        case (.iterateSafes, .keyFound): .hasDelegateKey
        case (.iterateSafes, .keyMissing): .subscribedObserver
        case (.globalNotifOff, .proceeded): .allUnsubscribed
        case (.allUnsubscribed, .proceeded): .notificationsDisabled
        default: nil
        }
    }
}
