/// The state of one subject that a device may subscribe to (in the wallet: a Safe), from its prompt to its role.
///
/// Each subject has its own state machine, which begins at `noSafe`. The switch for all subjects has another one, which
/// begins at `globalNotifications`. An event without a transition from the current state is rejected and changes
/// nothing. `docs/client-kit.md` shows the transitions.
public enum SubscriptionState: String, ClientStateMachine {
    /// There is no subject to subscribe to.
    case noSafe = "NoSafe"
    /// The first subject was added; the user has never been asked.
    case firstSafe = "FirstSafe"
    /// Another subject was added; the user has answered before.
    case additionalSafe = "AdditionalSafe"
    /// The app asks for permission to notify.
    case prompted = "Prompted"
    /// The user accepted; the app fetches the device's token.
    case promptAccepted = "PromptAccepted"
    /// The user declined or closed the prompt.
    case promptDismissed = "PromptDismissed"
    /// The app's setting decides.
    case checkNotifSetting = "CheckNotifSetting"
    /// The role depends on whether the device has a key of the subject.
    case hasDelegateKey = "HasDelegateKey"
    /// Nothing is sent, and nothing was sent before.
    case unsubscribed = "Unsubscribed"
    /// Subscribed with a key; requests for confirmation are sent as well.
    case subscribedOwner = "SubscribedOwner"
    /// Subscribed without a key; only events are sent.
    case subscribedObserver = "SubscribedObserver"
    /// The user has turned off the subscription.
    case notificationsDisabled = "NotificationsDisabled"
    /// The user has turned on the subscription in the settings.
    case settingsToggledOn = "SettingsToggledOn"
    /// The initial state of the switch for all subjects.
    case globalNotifications = "GlobalNotifications"
    /// The switch was turned on.
    case globalNotifOn = "GlobalNotifOn"
    /// The app processes each subject.
    case iterateSafes = "IterateSafes"
    /// The switch was turned off.
    case globalNotifOff = "GlobalNotifOff"
    /// All subjects were unsubscribed.
    case allUnsubscribed = "AllUnsubscribed"

    /// An event that changes the state of a subscription.
    public enum Event: String, CaseIterable, Hashable, Sendable {
        /// The user's first subject is added.
        case firstAdded
        /// Another subject is added.
        case anotherAdded
        /// The app's own prompt is shown.
        case promptShown
        /// The user accepts the prompt.
        case accepted
        /// The user dismisses the prompt or closes the window.
        case dismissed
        /// The app has completed the work of the state, which has only one transition.
        case proceeded
        /// The app's setting is off.
        case settingIsOff
        /// The app's setting is on.
        case settingIsOn
        /// The device has a key of the subject.
        case keyFound
        /// The device has no key of the subject.
        case keyMissing
        /// The device gets a key later.
        case keyAdded
        /// The user turns off this subject.
        case turnedOff
        /// The user turns on this subject, here or in the settings.
        case turnedOn
        /// The user turns on all subjects.
        case globallyTurnedOn
        /// The user turns off all subjects.
        case globallyTurnedOff
    }

    /// The initial state of each subject.
    public static let initial = SubscriptionState.noSafe
    /// The initial state of the switch for all subjects.
    public static let globalInitial = SubscriptionState.globalNotifications

    /// Returns the next state; `nil` if the event has no transition from this state.
    public func applying(_ event: Event) -> SubscriptionState? {
        switch self {
        case .noSafe, .firstSafe, .additionalSafe, .prompted, .promptAccepted, .promptDismissed: whileAdding(event)
        case .globalNotifications, .globalNotifOn, .iterateSafes, .globalNotifOff, .allUnsubscribed: globally(event)
        default: later(event)
        }
    }

    /// The role of the subscription on the server; `nil` if there is none.
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
