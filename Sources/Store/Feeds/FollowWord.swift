import BellhopRules

/// What one message says of one follow.
struct FollowWord: Sendable {
    let topic: Topic
    /// The hash of the token of the device that it is about; nil for the follow as a whole.
    let device: String?
    /// Whether it ends something.
    let isEnd: Bool
    let role: FieldUpdate<FollowRole>
    let muted: FieldUpdate<Bool>

    /// What `follow.added` says.
    init(added update: FollowUpdate, _ key: RecipientKey) {
        topic = update.topic
        device = update.token.map { SubjectHash.device($0, of: key) }
        isEnd = false
        role = update.role
        muted = update.muted
    }

    /// What `follow.removed` says.
    init(removed topic: Topic, _ token: DeviceToken?, _ key: RecipientKey) {
        self.topic = topic
        device = token.map { SubjectHash.device($0, of: key) }
        isEnd = true
        role = .unchanged
        muted = .unchanged
    }
}
