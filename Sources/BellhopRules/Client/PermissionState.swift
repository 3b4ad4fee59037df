/// The state of a user's permission for notifications in an app, from the first launch on.
///
/// The app stores the state and applies events. An event without a transition from the current state is rejected and
/// changes nothing. `docs/client-kit.md` shows the transitions.
public enum PermissionState: String, ClientStateMachine {
    /// The user has not been asked.
    ///
    /// The app explains its notifications before the system asks.
    case notDetermined = "NotDetermined"
    /// The system's dialogue is on the screen; the system shows it only once.
    case requesting = "Requesting"
    /// The user has allowed notifications, and the device has no token yet.
    case granted = "Granted"
    /// The user has refused; this is final until the user changes it in the system's settings.
    case denied = "Denied"
    /// Notifications are allowed, registered and wanted.
    case active = "Active"
    /// Notifications are allowed and registered, but turned off in the app.
    ///
    /// Tokens are kept and not used.
    case disabled = "Disabled"
    /// The app has pointed the user to the system's settings.
    case settingsRedirect = "SettingsRedirect"

    /// An event that changes the state of a permission.
    public enum Event: String, CaseIterable, Hashable, Sendable {
        /// The app asks the system for permission.
        case requested
        /// The user allows notifications.
        case allowed
        /// The user refuses notifications.
        case refused
        /// The server has the device's token.
        case tokenRegistered
        /// The user turns notifications off in the app's settings.
        case turnedOff
        /// The user turns notifications on in the app's settings.
        case turnedOn
        /// The app explains how to allow notifications in the system's settings.
        case settingsPromptShown
        /// The user has allowed notifications in the system's settings.
        case enabledInSettings
        /// The user returns without having allowed notifications.
        case keptDisabled
    }

    /// The initial state of every user.
    public static let initial = PermissionState.notDetermined

    /// Creates the state at a later launch from the system's permission; a registration then makes it active.
    ///
    /// The user may have changed the permission in the system's settings while the app was not running.
    public init(atLaunch permission: PushPermission) {
        switch permission {
        case .granted, .provisional: self = .granted
        case .denied: self = .denied
        case .default, .undetermined: self = .notDetermined
        }
    }

    /// Returns the next state; `nil` if the event has no transition from this state.
    public func applying(_ event: Event) -> PermissionState? {
        switch (self, event) {
        case (.notDetermined, .requested): .requesting
        case (.requesting, .allowed): .granted
        case (.requesting, .refused): .denied
        case (.granted, .tokenRegistered): .active
        case (.active, .turnedOff): .disabled
        case (.disabled, .turnedOn): .active
        case (.denied, .settingsPromptShown): .settingsRedirect
        case (.settingsRedirect, .enabledInSettings): .granted
        case (.settingsRedirect, .keptDisabled): .denied
        default: nil
        }
    }

    /// The value that the app sends to the server as `permission` of its subscription.
    public var permission: PushPermission {
        switch self {
        case .notDetermined, .requesting: .undetermined
        case .granted, .active, .disabled: .granted
        case .denied, .settingsRedirect: .denied
        }
    }

    /// Whether pushes can arrive and are wanted.
    public var receivesPushes: Bool { self == .active }
}
