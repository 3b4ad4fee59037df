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
