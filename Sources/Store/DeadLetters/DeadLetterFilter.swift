package import BellhopRules

/// Which items of the desk are meant; every command takes the same, and it means the same in each.
///
/// All conditions hold together. Without any, every open item is meant.
package struct DeadLetterFilter: Sendable, Equatable {
    package var app: String?
    package var type: String?
    package var reason: String?
    package var stage: String?
    package var provider: String?
    package var fingerprint: String?
    package var user: String?
    package var event: String?
    /// Stands somewhere in the error, the event's id or the routing key, in whatever case.
    package var text: String?
    /// Changed by the act of this number in the audit, and by no other since.
    package var act: Int64?
    /// Failed last at this instant or later.
    package var since: Timestamp?
    /// Failed last before this instant.
    package var until: Timestamp?
    /// Single items; empty for no such condition.
    package var ids: [String] = []
    /// In one of these states; an act narrows this to what it can act upon.
    package var states: Set<DeadLetterState> = [.open]
    /// Only so many, those that failed last.
    package var limit: Int?
    /// Filed by this instant: what came after the question was asked is not meant by the answer.
    package var filedBy: Timestamp?
    /// Only what a replay may take.
    var replayable: ReplayLimits?

    package init() {}

    /// The same, of one state.
    package func with(state: DeadLetterState) -> DeadLetterFilter {
        var other = self
        other.states = [state]
        return other
    }

    /// Whether it says anything beside the states, and beside how many are enough: neither says which are meant.
    package var isNarrow: Bool {
        let texts = [app, type, reason, stage, provider, fingerprint, user, event, text]
        return texts.contains { $0 != nil } || since != nil || until != nil || !ids.isEmpty || act != nil
    }

    /// What the audit keeps of it: the conditions that were given.
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

    /// A thousand ids in the audit tell nobody more than their count.
    private static let idsKept = 20
}
