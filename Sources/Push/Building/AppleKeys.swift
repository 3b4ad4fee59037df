import BellhopRules

/// The members of `aps` beside the words, which APNs takes from us and from FCM alike.
struct AppleKeys {
    let presentation: ApplePresentation
    let badge: Int?
    /// An image reaches the screen through the app's service extension alone, which runs for mutable content.
    let hasImage: Bool

    init(_ message: PushMessage, withImage: Bool) {
        presentation = message.presentation.apple
        badge = message.shownBadge
        hasImage = withImage && message.imageURL != nil
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

    /// Only the dictionary makes a sound that is heard through silence.
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
    /// The badge as platforms can show it: they count in 32 bits, from nothing.
    var shownBadge: Int? {
        badge.map { min(max($0, 0), Int(Int32.max)) }
    }

    /// A badge update replaces the one before it, and never a notification.
    static var badgeReplacementID: StaticString { "bellhop-badge" }
}
