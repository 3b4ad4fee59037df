/// What Apple's systems are told of a type beside its words; every nil leaves it to the app.
public struct AppleOptions: Hashable, Sendable {
    /// How far a notification may disturb.
    public enum InterruptionLevel: String, CaseIterable, Hashable, Sendable {
        /// Into the list, without lighting the screen.
        case passive
        /// As usual.
        case active
        /// Through a focus mode, for what concerns the user now.
        case timeSensitive = "time-sensitive"
        /// Through silence, too; needs a permission from Apple.
        case critical
    }

    /// The name of a sound of the app, or `default`.
    public let sound: String?
    /// The category that the app has registered actions for.
    public let category: String?
    /// What is shown as one stack.
    public let thread: String?
    /// How far it may disturb.
    public let interruptionLevel: InterruptionLevel?
    /// Whether the app's service extension may rewrite the notification before it is shown.
    public let isMutable: Bool

    /// All left to the app.
    static let none = AppleOptions(
        sound: nil,
        category: nil,
        thread: nil,
        interruptionLevel: nil,
        isMutable: false
    )
}
