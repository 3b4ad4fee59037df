/// What `follow.added` says: a user follows a topic from now on, perhaps in a role, perhaps in silence.
public struct FollowUpdate: Hashable, Sendable {
    /// The follower.
    public let user: UserID
    /// What is followed.
    public internal(set) var topic: Topic
    /// In which role.
    public let role: FieldUpdate<FollowRole>
    /// Whether its notifications stay silent.
    public let muted: FieldUpdate<Bool>

    init(_ user: UserID, _ reader: FieldReader) throws(FieldFault) {
        self.user = user
        topic = try reader.required("topic")
        role = try reader.update("role") { key throws(FieldFault) in try reader.identifier(key) }
        muted = try reader.update("muted") { key throws(FieldFault) in try reader.bool(key) }
    }
}
