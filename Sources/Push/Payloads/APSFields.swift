import BellhopRules

/// The members of `aps` in addition to the texts, for APNs directly and through FCM.
struct APSFields {
    let presentation: ApplePresentation
    let badge: Int?
    /// Whether the payload has an image.
    ///
    /// Only the app's service extension can display it, and the extension runs only for mutable content.
    let hasImage: Bool

    init(_ message: PushMessage, withImage: Bool) {
        presentation = message.apple
        badge = message.shownBadge
        hasImage = withImage && message.texts.has(.imageURL)
    }

    var isEmpty: Bool { badge == nil && !hasImage && presentation == ApplePresentation(sound: nil) }

    func write(into json: inout JSONBytes) {
        if let badge { json.add("badge", badge) }
        if presentation.isMutable || hasImage { json.add("mutable-content", 1) }
        writeSound(into: &json)
        json.add("category", presentation.category)
        json.add("thread-id", presentation.thread)
        json.add("interruption-level", presentation.interruptionLevel?.rawValue)
    }

    /// Writes the sound.
    ///
    /// Only the dictionary form is heard in silent mode.
    private func writeSound(into json: inout JSONBytes) {
        guard let sound = presentation.sound else { return }
        guard presentation.interruptionLevel == .critical else { return json.add("sound", sound) }
        json.open("sound")
        json.add("critical", 1)
        json.add("name", sound)
        json.add("volume", 1)
        json.close()
    }
}

extension PushMessage {
    /// The badge within the range of the platforms, which is 0 to the largest 32-bit integer.
    var shownBadge: Int? { badge.map { min(max($0, 0), Int(Int32.max)) } }

    /// The replacement id of badge updates; an update replaces the previous one, and never a notification.
    static var badgeReplacementID: StaticString { "bellhop-badge" }
}
