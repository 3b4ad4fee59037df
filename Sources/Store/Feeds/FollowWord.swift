import BellhopRules

/// An update of one follow.
struct FollowWord: Sendable {
    let topic: Topic
    /// The token hash of the updated device; `nil` for the whole follow.
    let device: String?
    /// Whether the update ends the follow or a device's part in it.
    let isEnd: Bool
    let role: FieldUpdate<FollowRole>
    let muted: FieldUpdate<Bool>

    /// Creates the update of a `follow.added` message.
    init(added update: FollowUpdate, _ key: RecipientKey) {
        topic = update.topic
        device = update.token.map { SubjectHash.device($0, of: key) }
        isEnd = false
        role = update.role
        muted = update.muted
    }

    /// Creates the update of a `follow.removed` message.
    init(removed topic: Topic, _ token: DeviceToken?, _ key: RecipientKey) {
        self.topic = topic
        device = token.map { SubjectHash.device($0, of: key) }
        isEnd = true
        role = .unchanged
        muted = .unchanged
    }
}
