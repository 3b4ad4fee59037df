package import BellhopRules

/// The appearance and sound of a notification as its catalogue defines them; each `nil` leaves the choice to the app or
/// the platform.
///
/// A type's values are read when a builder needs them, so that a message refers to the type and copies none of its
/// texts.
package struct PushPresentation: Sendable {
    private var type: CatalogType?
    private var ownAndroid: AndroidPresentation?
    private var ownApple: ApplePresentation?
    private var ownUrgency: Priority?
    private var ownNames: ClientNames?

    package init(android: AndroidPresentation? = nil, apple: ApplePresentation? = nil) {
        ownAndroid = android
        ownApple = apple
    }

    /// Creates the presentation that a type's catalogue defines.
    package init(_ type: CatalogType) { self.type = type }

    /// The urgency on the device; `nil` if it equals the priority.
    package var urgency: Priority? {
        get { ownUrgency ?? type?.deviceUrgency }
        set { ownUrgency = newValue }
    }

    /// The fields for the client, with their names.
    package var clientNames: ClientNames {
        get { ownNames ?? type?.clientNames ?? .usual }
        set { ownNames = newValue }
    }

    package var android: AndroidPresentation {
        get { ownAndroid ?? type.map(AndroidPresentation.init) ?? AndroidPresentation() }
        set { ownAndroid = newValue }
    }

    package var apple: ApplePresentation {
        get { ownApple ?? type.map(ApplePresentation.init) ?? ApplePresentation() }
        set { ownApple = newValue }
    }
}

/// The options for Android in addition to the texts.
package struct AndroidPresentation: Hashable, Sendable {
    /// The channel that decides importance and sound; the app must have created it.
    package var channelID: String?
    /// The part of a notification that a locked screen shows.
    package var visibility: AndroidOptions.Visibility?
    /// The level of attention on systems without channels.
    package var importance: AndroidOptions.Importance?
    /// The name of a sound of the app, or `default`.
    package var sound: String?
    /// The name of a drawable of the app.
    package var icon: String?
    /// The colour as `#RRGGBB`.
    package var color: String?
    /// The component that displays the notification.
    package var display: AndroidOptions.Display

    package init(
        channelID: String? = nil,
        visibility: AndroidOptions.Visibility? = nil,
        importance: AndroidOptions.Importance? = nil,
        sound: String? = nil,
        icon: String? = nil,
        color: String? = nil,
        display: AndroidOptions.Display = .system
    ) {
        self.channelID = channelID
        self.visibility = visibility
        self.importance = importance
        self.sound = sound
        self.icon = icon
        self.color = color
        self.display = display
    }
}

/// The options for iOS in addition to the texts.
package struct ApplePresentation: Hashable, Sendable {
    /// The sound's file in the app, or `default`; `nil` for silence.
    package var sound: String?
    /// Whether the app's service extension may rewrite the notification before it is shown.
    package var isMutable: Bool
    /// The category for which the app has registered actions.
    package var category: String?
    /// The identifier of notifications that are shown as one stack.
    package var thread: String?
    package var interruptionLevel: AppleOptions.InterruptionLevel?

    package init(
        sound: String? = "default",
        isMutable: Bool = false,
        category: String? = nil,
        thread: String? = nil,
        interruptionLevel: AppleOptions.InterruptionLevel? = nil
    ) {
        self.sound = sound
        self.isMutable = isMutable
        self.category = category
        self.thread = thread
        self.interruptionLevel = interruptionLevel
    }
}

extension AndroidPresentation {
    fileprivate init(_ type: CatalogType) {
        self.init(
            channelID: type.android.channel,
            visibility: type.android.visibility,
            importance: type.android.importance,
            sound: type.hasSound ? type.android.sound ?? "default" : nil,
            icon: type.android.icon,
            color: type.color,
            display: type.android.display
        )
    }
}

extension ApplePresentation {
    fileprivate init(_ type: CatalogType) {
        self.init(
            sound: type.hasSound ? type.apple.sound ?? "default" : nil,
            isMutable: type.apple.isMutable,
            category: type.apple.category,
            thread: type.apple.thread,
            interruptionLevel: type.apple.interruptionLevel
        )
    }
}
