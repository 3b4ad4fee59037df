import Store

/// An obstacle at an outlet, and the backlog in which messages wait meanwhile.
struct Hold: Sendable, Equatable {
    let hindrance: WaitReason
    let backlog: BacklogKey
    /// The time after which the obstacle may be gone.
    let wait: Duration

    /// Whether a probe may test that.
    var mayBeOver: Bool { hindrance == .breaker && wait == .zero }
}
