/// What an app's settings page says beside the labels of its types, and what holds until a user says something.
public struct SettingsPage: Hashable, Sendable {
    /// The switch for everything, per language; empty where the catalogue leaves the words to the app.
    public let masterLabels: [LanguageTag: String]
    /// The switch for quiet hours, per language; empty where the catalogue leaves the words to the app.
    public let quietHoursLabels: [LanguageTag: String]
    /// What quiet hours are, per language; empty where the catalogue leaves the words to the app.
    public let quietHoursHelpers: [LanguageTag: String]
    /// The quiet hours of a user who has not set any.
    public let quietHours: QuietHours
}
