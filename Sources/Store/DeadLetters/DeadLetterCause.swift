import Cryptography
import Postgres

/// The reason why a message, one user's part of it or a delivery is not retried, with its app, event and user if known.
///
/// The same value is used throughout: for the fault, in the headers of a dead letter, in the database, in lists and in
/// exports.
package struct DeadLetterCause: Sendable, Equatable {
    package var stage: Stage
    package var reason: String
    /// A JSON pointer to the fault, if it has a place.
    package var pointer: String?
    /// The error text, without the invalid content.
    package var error: String
    package var provider: String?
    package var app: String?
    package var eventType: String?
    package var eventID: String?
    package var user: String?

    /// The processing step that gave up: a stage of the pipeline, or a word that another program has written there.
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
        /// The stage of a corrected copy, which has not failed yet.
        package static let desk = Stage(rawValue: "desk")

        /// All stages that Bellhop's programs write.
        package static let known: [Stage] = [.intake, .record, .feed, .resume, .dispatch, .receipt, .broker, .desk]
    }

    package init(_ stage: Stage, reason: String, pointer: String? = nil, error: String) {
        self.stage = stage
        self.reason = reason
        self.pointer = pointer
        self.error = error
    }

    /// The error and its place, which many errors name themselves.
    package var errorWithPlace: String {
        guard let pointer, !pointer.isEmpty else { return error }
        let words = error.split { " ,;:".contains($0) }
        return words.contains { $0 == pointer } ? error : "\(error) at \(pointer)"
    }

    /// The reason, place and error.
    package var words: String {
        let place = pointer.map { $0.isEmpty ? "" : " at \($0)" } ?? ""
        return "\(reason)\(place): \(error)"
    }

    /// A member of a cause; the raw value is its name in JSON.
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

        /// The column name in `dead_letters`.
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

    /// Reads a cause from headers, a row or JSON; `text` returns the value of a member.
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

extension DeadLetterCause {
    /// Returns the columns of all members in their order, each with the prefix.
    static func columns(_ prefix: String = "") -> String {
        Member.allCases.map { prefix + $0.column }.joined(separator: ", ")
    }

    /// Creates a cause from ``columns(_:)``.
    init(_ rows: Rows, _ row: Int) throws(PostgresError) {
        try self.init { (member) throws(PostgresError) in try rows.optionalText(row, .name(member.column)) }
    }

    /// Returns an array parameter for each of these members.
    static func parameters(_ members: some Sequence<Member>, of causes: [DeadLetterCause]) -> [Parameter] {
        members.map { member in .textArray(causes.map { $0[member] }) }
    }
}

/// Computes the value that groups dead letters with the same problem, from stage, reason, provider and normalised
/// error.
enum DeadLetterFingerprint {
    /// Returns 16 hex digits.
    static func of(_ cause: DeadLetterCause) -> String {
        // The error of a corrected copy is the id of its original, which would make a group of each copy.
        let error = cause.stage == .desk ? "" : normalised(cause.error)
        let trouble = [cause.stage.rawValue, cause.reason, cause.provider ?? "-", error]
        let text = trouble.joined(separator: "\u{0}")
        return SHA256.digest(of: Array(text.utf8)).hexPrefix(bytes: 8)
    }

    /// Replaces every run of digits in the error by `#` and every quoted part by `'…'`, and returns at most 200
    /// characters.
    ///
    /// The same fault at item 7 and at item 8 is therefore one group. An apostrophe between two letters, as in `the
    /// app's template`, opens and closes no quoted part.
    static func normalised(_ error: String) -> String {
        let characters = Array(error.prefix(400))
        var result = ""
        var quote: Character?
        for (index, character) in characters.enumerated() {
            let isQuote = character == "\"" || character == "'" && !isInsideWord(index, of: characters)
            if let open = quote {
                if isQuote, character == open {
                    quote = nil
                    result += "'…'"
                }
            } else if isQuote {
                quote = character
            } else if character.isASCII, character.isNumber {
                if result.last != "#" { result.append("#") }
            } else {
                result.append(character)
            }
        }
        return String(result.prefix(200))
    }

    private static func isInsideWord(_ index: Int, of characters: [Character]) -> Bool {
        index > 0 && index + 1 < characters.count && characters[index - 1].isLetter && characters[index + 1].isLetter
    }
}

extension DeadLetterItem {
    /// The fingerprint of the item's group.
    var fingerprint: String { DeadLetterFingerprint.of(cause) }
}
