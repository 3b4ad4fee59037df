import BellhopRules

/// An update of one follow.
struct FollowUpdateRow: Sendable {
    let topic: Topic
    /// The token hash of the updated device; `nil` for the whole follow.
    let device: String?
    /// Whether the update ends the follow or a device's part in it.
    let isEnd: Bool
    let role: FieldUpdate<FollowRole>
    let muted: FieldUpdate<Bool>

    /// Creates the update of a `follow.added` message.
    init(added update: FollowUpdate, _ key: UserKey) {
        topic = update.topic
        device = update.token.map { IdentityHash.device($0, of: key) }
        isEnd = false
        role = update.role
        muted = update.muted
    }

    /// Creates the update of a `follow.removed` message.
    init(removed topic: Topic, _ token: DeviceToken?, _ key: UserKey) {
        self.topic = topic
        device = token.map { IdentityHash.device($0, of: key) }
        isEnd = true
        role = .unchanged
        muted = .unchanged
    }
}
