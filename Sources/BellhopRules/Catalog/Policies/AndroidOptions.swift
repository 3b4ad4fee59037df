/// What Android is told of a type beside its words; every nil leaves it to the app.
public struct AndroidOptions: Hashable, Sendable {
    /// What of a notification a locked screen shows.
    public enum Visibility: String, CaseIterable, Hashable, Sendable {
        /// All of it.
        case everything = "public"
        /// That there is one.
        case presence = "private"
        /// Nothing.
        case nothing = "secret"
    }

    /// How much a notification asks for attention where there are no channels (before Android 8); a channel decides it
    /// by itself.
    public enum Importance: String, CaseIterable, Hashable, Sendable {
        /// Only in the list.
        case min
        /// Without a sound.
        case low
        /// With a sound.
        case `default`
        /// Over what is on the screen.
        case high
        /// Over what is on the screen, for what cannot wait.
        case max
    }

    /// Who puts a notification on the screen.
    public enum Display: String, CaseIterable, Hashable, Sendable {
        /// Android, as far as the app is in the background.
        case system
        /// The app, from data that wake it.
        case app
    }

    /// The channel that decides importance and sound; the app must have created it.
    public let channel: String?
    /// What of it a locked screen shows.
    public let visibility: Visibility?
    /// How much it asks for attention where there are no channels.
    public let importance: Importance?
    /// The name of a sound of the app, or `default`.
    public let sound: String?
    /// The name of a drawable of the app, for the status bar.
    public let icon: String?
    /// Who puts it on the screen.
    public let display: Display

    /// All left to the app.
    static let none = AndroidOptions(
        channel: nil,
        visibility: nil,
        importance: nil,
        sound: nil,
        icon: nil,
        display: .system
    )
}
