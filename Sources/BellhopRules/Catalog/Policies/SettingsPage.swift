/// What an app's settings page says beside the labels of its types, and what holds until a user says something.
public struct SettingsPage: Hashable, Sendable {
    /// The switch for everything, per language; empty where the catalogue leaves the words to the app.
    public let masterLabels: [LanguageTag: String]
    /// The switch for quiet hours, per language; empty where the catalogue leaves the words to the app.
    public let quietHoursLabels: [LanguageTag: String]
    /// What quiet hours are, per language; empty where the catalogue leaves the words to the app.
    public let quietHoursHelpers: [LanguageTag: String]
    /// The quiet hours of a user who has not set any.
    public let quietHours: QuietHoursDefaults
}

/// The quiet hours of a user who has not set any.
public struct QuietHoursDefaults: Hashable, Sendable {
    /// Whether they are on.
    public let isEnabled: Bool
    /// The first quiet hour of the user's clock, 0 to 23.
    public let startHour: Int
    /// The first hour that is not quiet any more, 0 to 23.
    public let endHour: Int

    /// Off; from 22 to 7 once a user turns them on.
    public static let usual = QuietHoursDefaults(isEnabled: false, startHour: 22, endHour: 7)
}
