/// Where a user of an app stands with the permission to notify, from the first launch on.
///
/// The app keeps the state and applies what happens; an event that has no arrow in a state is refused as a value, and
/// changes nothing. `docs/client-kit.md` draws the arrows.
public enum PermissionState: String, CaseIterable, Hashable, Sendable {
    /// Nobody has asked yet. The app explains what it would notify of before the system asks.
    case notDetermined = "NotDetermined"
    /// The system's dialogue is on the screen; it comes only once.
    case requesting = "Requesting"
    /// Allowed, and the device has no token yet.
    case granted = "Granted"
    /// Refused; final until the user changes it in the system's settings.
    case denied = "Denied"
    /// Allowed, registered and wanted.
    case active = "Active"
    /// Allowed and registered, but turned off in the app; tokens are kept and not used.
    case disabled = "Disabled"
    /// The app has shown the way to the system's settings.
    case settingsRedirect = "SettingsRedirect"

    /// What happens to a permission.
    public enum Event: String, CaseIterable, Hashable, Sendable {
        /// The app asks the system.
        case requested
        /// The user allows it.
        case allowed
        /// The user refuses.
        case refused
        /// The server has the device's token.
        case tokenRegistered
        /// Turned off in the app's settings.
        case turnedOff
        /// Turned on in the app's settings.
        case turnedOn
        /// The app shows how to allow it in the system's settings.
        case settingsPromptShown
        /// The user has allowed it in the system's settings.
        case enabledInSettings
        /// The user comes back without having allowed it.
        case keptDisabled
    }

    /// Where everybody begins.
    public static let initial = PermissionState.notDetermined

    /// Where the app finds itself at a later launch, by what the system says; a registration then makes it active.
    ///
    /// The user may have changed their mind in the system's settings while the app did not run.
    public init(atLaunch permission: PushPermission) {
        switch permission {
        case .granted, .provisional: self = .granted
        case .denied: self = .denied
        case .default, .undetermined: self = .notDetermined
        }
    }

    /// The state that follows; nil where the event has no arrow here.
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

    /// Goes on to the state that follows, and says whether there was one; stays where there was none.
    @discardableResult
    public mutating func apply(_ event: Event) -> Bool {
        guard let next = applying(event) else { return false }
        self = next
        return true
    }

    /// What the app tells the server in `permission` of its subscription.
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
