import Store

/// The reason why a message was not offered to its provider, or was rejected for reasons unrelated to it.
///
/// None of these counts as an attempt; the delivery waits in its outlet's backlog.
enum SendObstacle: String, CaseIterable, Sendable {
    /// An operator's hold covers it.
    case held
    /// The provider rejects our credentials or settings.
    case breaker
    /// The provider has requested a pause.
    case providerRests = "provider-rests"
    /// The window, the budget or the lane's share has no free place, or other deliveries wait already.
    case windowFull = "window-full"
    /// Half of its lease was over before its turn came.
    case leaseOver = "lease-over"
}

/// An obstacle at an outlet, and the backlog in which messages wait meanwhile.
struct Hold: Sendable, Equatable {
    let hindrance: SendObstacle
    let backlog: BacklogKey
    /// The time after which the obstacle may be gone.
    let wait: Duration

    /// Whether a probe may test that.
    var mayBeOver: Bool { hindrance == .breaker && wait == .zero }
}
