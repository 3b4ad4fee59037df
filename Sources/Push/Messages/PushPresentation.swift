package import BellhopRules

/// How a notification looks and sounds where its catalogue says so; every nil leaves it to the app or the platform.
///
/// What a type says is read from it where a builder asks, so that a message holds on to the type and to none of its texts.
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

    /// What a type's catalogue says of looks and sounds.
    package init(_ type: CatalogType) {
        self.type = type
    }

    /// How urgently a device is to take it; nil where that follows from how much it matters.
    package var urgency: Priority? {
        get { ownUrgency ?? type?.deviceUrgency }
        set { ownUrgency = newValue }
    }

    /// What the client finds in it, and under which names.
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

/// What Android wants to know beside the words.
package struct AndroidPresentation: Hashable, Sendable {
    /// The channel that decides importance and sound; the app must have created it.
    package var channelID: String?
    /// What of a notification a locked screen shows.
    package var visibility: AndroidOptions.Visibility?
    /// What decides where there are no channels.
    package var importance: AndroidOptions.Importance?
    /// The name of a sound of the app, or `default`.
    package var sound: String?
    /// The name of a drawable of the app.
    package var icon: String?
    /// `#RRGGBB`.
    package var color: String?
    /// Who puts it on the screen.
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

/// What iOS wants to know beside the words.
package struct ApplePresentation: Hashable, Sendable {
    /// The sound's file in the app, or `default`; nil for silence.
    package var sound: String?
    /// Whether the app's service extension may rewrite the notification before it is shown.
    package var isMutable: Bool
    /// The category that the app has registered actions for.
    package var category: String?
    /// What is shown as one stack.
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
