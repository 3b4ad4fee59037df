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

/// A type's options for Apple's systems, in addition to its texts; each `nil` leaves the choice to the app.
public struct AppleOptions: Hashable, Sendable {
    /// The degree to which a notification may interrupt the user.
    public enum InterruptionLevel: String, CaseIterable, Hashable, Sendable {
        /// The notification goes into the list and does not light the screen.
        case passive
        /// The default behaviour.
        case active
        /// The notification passes a focus mode, because it concerns the user now.
        case timeSensitive = "time-sensitive"
        /// The notification also passes the silent mode; this needs a permission from Apple.
        case critical
    }

    /// The name of a sound of the app, or `default`.
    public let sound: String?
    /// The category for which the app has registered actions.
    public let category: String?
    /// The identifier of notifications that are shown as one stack.
    public let thread: String?
    /// The degree to which the notification may interrupt the user.
    public let interruptionLevel: InterruptionLevel?
    /// Whether the app's service extension may rewrite the notification before it is shown.
    public let isMutable: Bool

    /// Leaves all choices to the app.
    static let none = AppleOptions(
        sound: nil,
        category: nil,
        thread: nil,
        interruptionLevel: nil,
        isMutable: false
    )
}
