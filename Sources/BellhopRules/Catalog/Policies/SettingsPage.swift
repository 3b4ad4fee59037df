/// The settings page's texts in addition to the labels of the types, and the defaults.
public struct SettingsPage: Hashable, Sendable {
    /// The label of the master switch, by language; empty if the catalogue leaves the text to the app.
    public let masterLabels: [LanguageTag: String]
    /// The label of the switch for quiet hours, by language; empty if the catalogue leaves the text to the app.
    public let quietHoursLabels: [LanguageTag: String]
    /// The explanation of quiet hours, by language; empty if the catalogue leaves the text to the app.
    public let quietHoursHelpers: [LanguageTag: String]
    /// The quiet hours of a user who has set none.
    public let quietHours: QuietHours
}
