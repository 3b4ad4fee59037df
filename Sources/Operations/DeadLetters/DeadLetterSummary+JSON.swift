package import BellhopJSON
package import Store

extension DeadLetterCause {
    /// The members of its JSON.
    package var members: [(String, JSONValue)] {
        Member.allCases.map { ($0.rawValue, .optional(self[$0])) }
    }
}

extension DeadLetterSummary {
    /// The members that every command prints for an item.
    package var members: [(String, JSONValue)] {
        [("id", .string(deadID)), ("state", .string(state.rawValue)), ("fingerprint", .string(fingerprint))]
            + cause.members
            + [
                ("notificationId", .optional(delivery?.notification.notification.text)),
                ("channel", .optional(delivery?.channel.rawValue)), ("target", .optional(delivery?.target)),
                ("attempts", .int(attempts)), ("copies", .int(copies)), ("deaths", .int(failures)),
                ("replays", .int(replays)), ("replay", replay.map { .int($0) } ?? .null),
                ("resolution", .optional(resolution)), ("editedFrom", .optional(editedFrom)),
                ("firstFailedAt", .string(firstFailedAt.description)),
                ("lastFailedAt", .string(lastFailedAt.description)),
            ]
    }
}
