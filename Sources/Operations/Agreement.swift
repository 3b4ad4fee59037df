package import BellhopJSON
package import BellhopRules
package import ServiceRuntime
package import Store

/// An operator's consent to an act: a number of items, and the time at which they were counted.
package struct Agreement: Sendable, Equatable {
    package let count: Int
    /// The time of the count by the database's clock, or `nil` if only the number counts.
    package let asOf: Timestamp?

    package init(count: Int, asOf: Timestamp?) {
        self.count = count
        self.asOf = asOf
    }

    /// Whether the consent covers an act on this number of items.
    ///
    /// With a time, later items are excluded from the act, and some of the items that the operator saw may be gone.
    package func covers(_ items: Int) -> Bool { asOf == nil ? items == count : items <= count }
}

/// The question before an act, which changes nothing until an operator agrees.
package struct ActQuestion: Sendable, Equatable {
    /// The number from which an operator types the count.
    package static let many = 10

    package let count: Int
    /// The verb of the effect.
    package let verb: ActVerb
    /// The rest of the effect, after the verb, such as `12 items of 9 users: malformed-json of drop news`.
    private let object: String
    /// The time of the count, which limits the act to the items that the operator saw.
    package let asOf: Timestamp?
    /// Facts that matter before the act, such as the items that are left out.
    package let lines: [String]
    /// The kinds of the dead letters, if the act is about dead letters.
    package let about: DeadLetterComposition?

    package init(
        count: Int,
        _ verb: ActVerb,
        _ object: String,
        asOf: Timestamp? = nil,
        lines: [String] = [],
        about: DeadLetterComposition? = nil
    ) {
        self.about = about
        self.count = count
        self.verb = verb
        self.object = object
        self.asOf = asOf
        self.lines = lines
    }

    /// The effect, which follows "This", such as `discards 12 items of 9 users: malformed-json of drop news`.
    package var deed: String { "\(verb.rawValue) \(object)" }

    /// The act as a gerund phrase, with which an error begins.
    package var attempt: String { "\(verb.gerund) \(object)" }
}

/// The verb of an act, in the third person.
package enum ActVerb: String, CaseIterable, Sendable {
    case pauses, resumes, cancels
    case sends, releases, discards, replays, restores, reverts, adds

    /// The form that begins an error.
    package var gerund: String {
        switch self {
        case .pauses: "pausing"
        case .resumes: "resuming"
        case .cancels: "cancelling"
        case .sends: "sending"
        case .releases: "releasing"
        case .discards: "discarding"
        case .replays: "replaying"
        case .restores: "restoring"
        case .reverts: "reverting"
        case .adds: "adding"
        }
    }
}

/// The result of asking for an act.
package enum ActAnswer: Sendable {
    /// Nothing was changed, because no agreement was given or because it no longer fits.
    case question(ActQuestion)
    /// Nothing was changed, because nothing matches.
    case nothing([String], JSONValue)
    /// The act was performed. The exit code tells scripts whether everything has succeeded.
    case done(JSONValue, ExitCode = .done)
}
