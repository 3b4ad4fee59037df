import AMQP
import BellhopRules

/// Why a message, or one user's part of it, cannot be delivered by trying again.
struct Fault: Sendable {
    /// The stage of the pipeline that gave up.
    enum Stage: String, Sendable {
        case intake
        case record
        case feed
    }

    var stage: Stage
    var reason: String
    var pointer: String?
    /// In words, without the offending content.
    var error: String
    var app: String?
    var eventType: String?
    var eventID: String?
    var user: String?

    init(_ rejection: Rejection) {
        stage = .intake
        reason = rejection.reason.rawValue
        pointer = rejection.pointer?.description
        error = rejection.message
        app = rejection.app
        eventType = rejection.eventType
        eventID = rejection.eventID
    }

    init(_ stage: Stage, reason: String, pointer: String? = nil, error: String) {
        self.stage = stage
        self.reason = reason
        self.pointer = pointer
        self.error = error
    }

    /// Words that are not the catalogue of reasons of the contract but the database's.
    static let refusedByStore = "refused-by-store"
}

/// A message on its way to the dead-letter queue.
struct Casualty: Sendable {
    let message: IncomingMessage
    let fault: Fault
}
