/// How a notification looks and sounds where its catalogue says so; every nil leaves it to the app or the platform.
package struct PushPresentation: Hashable, Sendable {
    package var android: AndroidPresentation
    package var apple: ApplePresentation

    package init(android: AndroidPresentation = .init(), apple: ApplePresentation = .init()) {
        self.android = android
        self.apple = apple
    }
}

/// What Android wants to know beside the words.
package struct AndroidPresentation: Hashable, Sendable {
    /// What of a notification a locked screen shows.
    package enum Visibility: String, CaseIterable, Hashable, Sendable {
        /// All of it.
        case everything = "PUBLIC"
        /// That there is one.
        case presence = "PRIVATE"
        /// Nothing.
        case nothing = "SECRET"
    }

    /// The channel that decides importance and sound; the app must have created it.
    package var channelID: String?
    package var visibility: Visibility?
    /// The name of a drawable of the app.
    package var icon: String?
    /// `#RRGGBB`.
    package var color: String?

    package init(
        channelID: String? = nil,
        visibility: Visibility? = nil,
        icon: String? = nil,
        color: String? = nil
    ) {
        self.channelID = channelID
        self.visibility = visibility
        self.icon = icon
        self.color = color
    }
}

/// What iOS wants to know beside the words.
package struct ApplePresentation: Hashable, Sendable {
    /// The sound's file in the app, or `default`; nil for silence.
    package var sound: String?
    /// Whether the app's service extension may rewrite the notification before it is shown.
    package var isMutable: Bool

    package init(sound: String? = "default", isMutable: Bool = false) {
        self.sound = sound
        self.isMutable = isMutable
    }
}
