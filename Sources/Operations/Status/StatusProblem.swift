package import BellhopJSON

/// One line of the status that an operator should know, with its severity.
package struct StatusProblem: Sendable, Equatable {
    /// The order of the problems: the most serious severity comes first.
    package enum Severity: String, CaseIterable, Sendable, Comparable {
        /// Events or deliveries do not move.
        case broken
        /// Something works only in part, or will fail soon.
        case degraded
        /// Work that waits for an operator.
        case toDo = "to-do"
        /// An operator has stopped it.
        case onPurpose = "on-purpose"

        package static func < (left: Severity, right: Severity) -> Bool {
            (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
        }
    }

    package let severity: Severity
    /// The sentence, which ends with the required action.
    package let text: String
    /// The console's page about it, such as `holds` or `replays/3`, or `nil` if there is none.
    package let page: String?

    init(_ severity: Severity, _ text: String, page: String? = nil) {
        self.severity = severity
        self.text = text
        self.page = page
    }

    package var json: JSONValue {
        .members([
            ("severity", .string(severity.rawValue)), ("text", .string(text)), ("page", .optional(page)),
        ])
    }
}

extension [String] {
    /// The sentences as problems of one severity.
    func asProblems(_ severity: StatusProblem.Severity, page: String? = nil) -> [StatusProblem] {
        map { StatusProblem(severity, $0, page: page) }
    }
}
