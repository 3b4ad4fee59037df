package import Store

/// The advice for an item, by its reason.
///
/// The runbook contains the same lines.
package enum DeadLetterAdvice {
    /// Returns the advice for an item in this state, or for a group if there is none.
    package static func words(for cause: DeadLetterCause, in state: DeadLetterState? = nil) -> String {
        // The copy was corrected, so the advice for its original's reason does not apply.
        if cause.stage == .desk { return copyWords(in: state) }
        return byReason[cause.reason] ?? (cause.stage == .broker ? broker : unknown)
    }

    /// The act that helps most, by the reason.
    package enum Act: String, Sendable {
        case replay
        /// A replay helps only after a catalogue, a release or another cause was corrected.
        case replayAfterFix = "replay-after-fix"
        case edit
        /// No act is better than the others: the message cannot be sent at all, or an operator has to read it first.
        case none
    }

    private static func copyWords(in state: DeadLetterState?) -> String {
        switch state {
        case .open:
            "a corrected copy that no replay sends, as after a cancelled edit: read it, then replay, edit or discard it"
        case .replaying: "it is corrected, and the replay sends it"
        case .resolved: "it is corrected, and a replay has resolved it"
        case .discarded: "it is corrected, and was discarded: restore it if it still matters"
        case nil:
            "corrected copies; no replay sends the open ones, as after a cancelled edit: read one, then replay, edit or "
                + "discard them"
        }
    }

    /// Returns the act that a page recommends.
    package static func act(for cause: DeadLetterCause) -> Act {
        if cause.stage == .desk { return .none }
        return switch cause.reason {
        case "missing-id", "missing-audience", "invalid-field", "id-conflict": .edit
        case "unknown-app", "unknown-type", "newer-message", "refused-by-store", "payload-refused": .replayAfterFix
        case "malformed-json", "too-large", "unexplained": .none
        default: .replay
        }
    }

    /// Returns the runbook page that explains the cause.
    package static func runbook(for cause: DeadLetterCause) -> String {
        "docs/runbooks/dead-letters.md#" + (byReason[cause.reason] == nil ? "what-to-do-by-reason" : cause.reason)
    }

    /// The advice for every reason that the pipeline gives.
    package static let byReason = [
        "malformed-json": "the producer sent invalid JSON: have it corrected; edit urgent messages, discard the rest",
        "too-large": "the body exceeds 256 KiB: have the producer send less; the message cannot be sent as it is",
        "missing-id": "the event has no id: have the producer corrected; edit --set '/id={item}' for urgent messages",
        "missing-audience": "\"to\" names no audience: edit --set /to=… for messages that must be sent",
        "unknown-app":
            "misspelt app: edit --routing-key APP.TYPE, and --set /app=APP if the body has it; else add its catalogue, "
            + "topology apply, SIGHUP, replay",
        "unknown-type":
            "misspelt type: edit --routing-key APP.TYPE, and --set /eventType=TYPE if the body has it; else add it, "
            + "topology apply, SIGHUP, replay",
        "invalid-field": "the pointer names the field: edit messages that must be sent, have the producer corrected",
        "id-conflict": "the id was used before with other content: edit --set /id=… if both are meant, else discard",
        "refused-by-store":
            "the database rejected a value that satisfies every rule: report a bug, replay after the fix",
        "newer-message": "a newer release sent it to a worker of this release: upgrade all workers to it, then replay",
        "payload-refused": "the provider never accepts this message: see its error; correct the catalogue, then replay",
        "attempts-exhausted": "the provider kept failing: check its status, then replay --dry-run, then replay --ramp",
        "delivery-limit": "delivered 20 times and never finished: look for workers that crash, then replay --limit 1",
        "maxlen": "the queue was full: free space in it, then replay",
        "expired": "it waited longer than its time to live: replay if it still matters",
        "rejected": "a consumer outside Bellhop rejected it: find the program that reads Bellhop's queues, then replay",
        "unexplained": "it was put into the queue manually: show it, then edit or discard",
    ]

    private static let broker = "the broker dead-lettered it: check its log, then replay"
    private static let unknown = "a newer release gave this reason: see its runbook"
}
