import Store

/// Why a message was not even offered to its provider, or was refused for reasons that are not its own.
///
/// Nothing of it counts as an attempt: it waits in its outlet's backlog.
enum Hindrance: String, CaseIterable, Sendable {
    /// An operator has said so.
    case held
    /// The provider refuses our keys or settings.
    case breaker
    /// The provider has asked for silence.
    case providerRests = "provider-rests"
    /// The provider, its budget or the lane has no room, or others wait already.
    case windowFull = "window-full"
    /// Its claim was half over before its turn came.
    case leaseOver = "lease-over"
}

/// What keeps messages from an outlet, and where they wait meanwhile.
struct Hold: Sendable, Equatable {
    let hindrance: Hindrance
    let backlog: BacklogKey
    /// Until it may be over.
    let wait: Duration

    /// Whether a probe may find out that it is.
    var mayBeOver: Bool { hindrance == .breaker && wait == .zero }
}
