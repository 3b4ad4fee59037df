/// What a user has answered when the system asked whether the app may notify.
public enum PushPermission: String, CaseIterable, Hashable, Sendable {
    /// Yes.
    case granted
    /// No; final until the user changes it in the system's settings.
    case denied
    /// Not asked yet; browsers call it so.
    case `default`
    /// Not asked yet; Expo calls it so.
    case undetermined
    /// Quietly, on trial (iOS).
    case provisional
}
