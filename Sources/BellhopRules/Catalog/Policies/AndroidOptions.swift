/// A type's options for Android, in addition to its texts; each `nil` leaves the choice to the app.
public struct AndroidOptions: Hashable, Sendable {
    /// The part of a notification that a locked screen shows.
    public enum Visibility: String, CaseIterable, Hashable, Sendable {
        /// The whole notification.
        case everything = "public"
        /// The presence of a notification, without its content.
        case presence = "private"
        /// Nothing.
        case nothing = "secret"
    }

    /// The level of attention on systems without channels (before Android 8).
    ///
    /// On later systems, the channel decides it.
    public enum Importance: String, CaseIterable, Hashable, Sendable {
        /// Only in the list.
        case min
        /// Without a sound.
        case low
        /// With a sound.
        case `default`
        /// Over the current screen content.
        case high
        /// Over the current screen content, for urgent notifications.
        case max
    }

    /// The component that displays a notification.
    public enum Display: String, CaseIterable, Hashable, Sendable {
        /// Android, while the app is in the background.
        case system
        /// The app, from data that wake it.
        case app
    }

    /// The channel that decides importance and sound; the app must have created it.
    public let channel: String?
    /// The part of a notification that a locked screen shows.
    public let visibility: Visibility?
    /// The level of attention on systems without channels.
    public let importance: Importance?
    /// The name of a sound of the app, or `default`.
    public let sound: String?
    /// The name of a drawable of the app for the status bar.
    public let icon: String?
    /// The component that displays the notification.
    public let display: Display

    /// Leaves all choices to the app.
    static let none = AndroidOptions(
        channel: nil,
        visibility: nil,
        importance: nil,
        sound: nil,
        icon: nil,
        display: .system
    )
}
