import BellhopRules
import Store

/// The gates of an outlet, in the order in which a send passes them.
///
/// A gate that is closed defers the delivery, and no attempt is counted.
enum Gate: String, CaseIterable, Sendable {
    /// No operator holds it.
    case hold
    /// The provider has not requested a pause.
    case silence
    /// The provider does not reject our credentials or settings, for all devices or for the platform.
    case breaker
    /// No delivery of the same or a higher urgency waits already.
    case backlog
    /// The worker has a free place.
    case window
    /// The account's rate allows it.
    case budget
    /// Enough of the lease is left for the answer and its settlement.
    case lease
    /// No operator has held it meanwhile.
    case holdAgain = "hold again"

    /// The reason for which a delivery waits if the gate is closed.
    var reason: WaitReason {
        switch self {
        case .hold, .holdAgain: .held
        case .silence: .providerRests
        case .breaker: .breaker
        case .backlog, .window, .budget: .windowFull
        case .lease: .leaseOver
        }
    }
}

/// A closed gate, and the backlog in which deliveries wait meanwhile.
struct Obstacle: Sendable, Equatable {
    let gate: Gate
    let backlog: BacklogKey
    /// The time after which the gate may be open.
    var wait = Duration.zero

    /// Whether a probe may test that.
    var mayBeOver: Bool { gate == .breaker && wait == .zero }
}

extension OutgoingDelivery {
    /// Defers all deliveries of the shipment because of an obstacle.
    func put(behind obstacle: Obstacle, from lane: Lane) -> [Disposition] {
        put(into: obstacle.backlog, from: lane, because: obstacle.gate.reason)
    }
}
