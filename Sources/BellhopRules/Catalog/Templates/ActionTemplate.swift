/// A button of a type's notifications, as the catalogue describes it.
struct ActionTemplate: Hashable, Sendable {
    /// The maximum number of buttons of a type.
    static let most = 3

    /// The text, as the title of each language.
    let label: LanguageSet
    let link: LinkTemplate
}

/// A button of one notification, in its user's language.
public struct NotificationAction: Hashable, Sendable {
    /// The text; never empty.
    public let label: String
    /// The target of a tap on the button.
    public let link: DeepLink
}
