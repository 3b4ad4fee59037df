/// Why a message, one user's part of it, or a delivery cannot be helped by trying again, and whose it was as far as that is
/// known.
///
/// It is the same value on its whole way: found at fault, written into the headers of a letter, filed, listed, exported.
package struct DeadLetterCause: Sendable, Equatable {
    package var stage: Stage
    package var reason: String
    /// JSON pointer to the fault, where it has a place.
    package var pointer: String?
    /// In words, without the offending content.
    package var error: String
    package var provider: String?
    package var app: String?
    package var eventType: String?
    package var eventID: String?
    package var user: String?

    /// Who gave up: a stage of the pipeline, or a word that somebody else has written there.
    package struct Stage: RawRepresentable, Hashable, Sendable {
        package let rawValue: String

        package init(rawValue: String) {
            self.rawValue = rawValue
        }

        package static let intake = Stage(rawValue: "intake")
        package static let record = Stage(rawValue: "record")
        package static let feed = Stage(rawValue: "feed")
        package static let resume = Stage(rawValue: "resume")
        package static let dispatch = Stage(rawValue: "dispatch")
        package static let receipt = Stage(rawValue: "receipt")
        package static let broker = Stage(rawValue: "broker")
        /// Of a corrected copy, which has not failed yet.
        package static let desk = Stage(rawValue: "desk")

        /// All that our own programs write.
        package static let known: [Stage] = [.intake, .record, .feed, .resume, .dispatch, .receipt, .broker, .desk]
    }

    package init(_ stage: Stage, reason: String, pointer: String? = nil, error: String) {
        self.stage = stage
        self.reason = reason
        self.pointer = pointer
        self.error = error
    }

    /// Reason, place and error.
    package var words: String {
        let place = pointer.map { $0.isEmpty ? "" : " at \($0)" } ?? ""
        return "\(reason)\(place): \(error)"
    }

    /// A member by its name, which is that of JSON.
    package enum Member: String, CaseIterable, Sendable {
        case stage
        case reason
        case pointer
        case error
        case provider
        case app
        case eventType
        case eventID = "eventId"
        case user

        /// Its name in `dead_letters`.
        package var column: String {
            switch self {
            case .eventType: "event_type"
            case .eventID: "event_id"
            case .user: "user_id"
            default: rawValue
            }
        }
    }

    package subscript(member: Member) -> String? {
        switch member {
        case .stage: stage.rawValue
        case .reason: reason
        case .pointer: pointer
        case .error: error
        case .provider: provider
        case .app: app
        case .eventType: eventType
        case .eventID: eventID
        case .user: user
        }
    }

    /// From headers, a row or JSON, wherever `text` finds a member.
    package init<Failure>(reading text: (Member) throws(Failure) -> String?) throws(Failure) {
        stage = Stage(rawValue: try text(.stage) ?? "unknown")
        reason = try text(.reason) ?? "unexplained"
        pointer = try text(.pointer)
        error = try text(.error) ?? ""
        provider = try text(.provider)
        app = try text(.app)
        eventType = try text(.eventType)
        eventID = try text(.eventID)
        user = try text(.user)
    }
}
