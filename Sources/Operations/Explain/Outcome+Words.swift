package import BellhopJSON
package import BellhopRules

extension Outcome {
    /// The outcome in one word, for scripts and tables.
    package var word: String {
        switch self {
        case .send: "send"
        case .wait: "wait"
        case .drop: "drop"
        case .suppress: "suppress"
        case .expire: "expire"
        }
    }

    /// The reason as stored in the ledger, or `nil` if nothing prevents the send.
    var reason: String? {
        switch self {
        case .send: nil
        case .wait(let wait): wait.reason.rawValue
        case .drop: SuppressionReason.quietHours.rawValue
        case .suppress(let reason): reason.rawValue
        case .expire: "expired-before-sending"
        }
    }

    /// The instant until which the delivery waits.
    var until: Timestamp? {
        guard case .wait(let wait) = self else { return nil }
        return wait.until
    }

    /// Returns the outcome in a sentence.
    package func sentence(_ clock: UserClock) -> String {
        switch self {
        case .send: "is sent immediately"
        case .wait(let wait):
            switch wait.reason {
            case .paused: "waits for the end of the user's pause: \(clock.both(wait.until))"
            case .quietHours: "waits for the end of the quiet hours: \(clock.both(wait.until))"
            case .burst: "waits, as one of several, of which the newest is sent at \(clock.both(wait.until))"
            case .digest: "is gathered for the digest of \(clock.both(wait.until))"
            }
        case .drop: "dropped: \(SuppressionReason.quietHours.sentence) (quiet-hours)"
        case .suppress(let reason): "suppressed: \(reason.sentence) (\(reason.rawValue))"
        case .expire: "expired: it is too late, or would be by then"
        }
    }

    /// Returns the outcome's JSON members.
    package func json(_ clock: UserClock) -> [(String, JSONValue)] {
        [
            ("outcome", .string(word)), ("reason", .optional(reason)), ("until", .optional(until?.description)),
            ("untilLocal", .optional(until.flatMap(clock.local))),
        ]
    }
}

extension SuppressionReason {
    /// The reason in words, for readers who do not know the rules.
    var sentence: String {
        switch self {
        case .muted: "the user muted everything"
        case .typeMuted: "this type is off, by the user's setting or the app's default"
        case .topicMuted: "the user muted this topic"
        case .unfollowed: "the user no longer follows the topic"
        case .otherDevice: "the user follows the topic with other devices only"
        case .notAddressed: "it is for followers in another role"
        case .pushDisabled: "push is disabled for this user"
        case .noDevice: "the user has no registered device"
        case .noPermission: "notifications are not permitted on this device"
        case .paused:
            "it came while the user had paused notifications, and does not wait for the end on this kind of device"
        case .quietHours:
            "it came during the user's quiet hours, and does not wait for their end on this kind of device"
        case .alreadyRead: "the user had read it in the app"
        case .superseded: "replaced by a later notification with the same collapse key"
        case .deviceGone: "the device's subscription has ended"
        case .recipientErased: "the user was erased"
        case .unknownType: "the app's catalogue no longer knows the type"
        case .noProvider: "no provider for this kind of device is configured, or the app does not use it"
        case .emailDisabled: "the user does not want e-mail"
        case .notMailed: "the event is never sent by e-mail"
        case .noAddress: "no e-mail address is known"
        }
    }
}
