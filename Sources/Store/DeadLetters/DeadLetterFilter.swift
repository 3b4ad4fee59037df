package import BellhopRules

/// Selects dead letters.
///
/// Every command accepts the same filter, with the same meaning.
///
/// All conditions must hold. Without conditions, every open item matches.
package struct DeadLetterFilter: Sendable, Equatable {
    package var app: String?
    package var type: String?
    package var reason: String?
    package var stage: String?
    package var provider: String?
    package var fingerprint: String?
    package var user: String?
    package var event: String?
    /// A text within the error, the event id or the routing key, ignoring case.
    package var text: String?
    /// Items whose last change is the action with this audit number.
    package var act: Int64?
    /// Items whose last failure is at this instant or later.
    package var since: Timestamp?
    /// Items whose last failure is before this instant.
    package var until: Timestamp?
    /// The ids of individual items; empty for no such condition.
    package var ids: [String] = []
    /// The accepted states; an action restricts them to the states to which it applies.
    package var states: Set<DeadLetterState> = [.open]
    /// The maximum number of items, the latest failures first.
    package var limit: Int?
    /// Items stored by this instant: items stored after a question was asked are not part of its answer.
    package var filedBy: Timestamp?
    /// Only items that a replay may take.
    var replayable: ReplayLimits?

    package init() {}

    /// Returns the same filter with a single state.
    package func with(state: DeadLetterState) -> DeadLetterFilter {
        var other = self
        other.states = [state]
        return other
    }

    /// Whether the filter has any condition other than the states and the limit, neither of which identifies items.
    package var isNarrow: Bool {
        let texts = [app, type, reason, stage, provider, fingerprint, user, event, text]
        return texts.contains { $0 != nil } || since != nil || until != nil || !ids.isEmpty || act != nil
    }

    /// The given conditions, as stored in the audit.
    package var json: JSONObject {
        var object = JSONObject()
        let texts = [
            ("app", app), ("type", type), ("reason", reason), ("stage", stage), ("provider", provider),
            ("fingerprint", fingerprint), ("user", user), ("event", event), ("text", text),
            ("since", since?.description), ("until", until?.description),
        ]
        for (name, text) in texts { object[name] = text.map(JSONValue.string) }
        if !ids.isEmpty {
            object["items"] = .array(ids.prefix(Self.idsKept).map(JSONValue.string))
            if ids.count > Self.idsKept { object["itemCount"] = .number(JSONNumber(Int64(ids.count))) }
        }
        if states != [.open] { object["states"] = .array(states.map(\.rawValue).sorted().map(JSONValue.string)) }
        object["act"] = act.map { .number(JSONNumber($0)) }
        object["limit"] = limit.map { .number(JSONNumber(Int64($0))) }
        return object
    }

    /// The number of ids stored in the audit.
    ///
    /// A longer list is no more useful than its count.
    private static let idsKept = 20
}
