package import BellhopJSON
package import BellhopRules
import ServiceRuntime
import Settings
package import Store

/// A hold with the deliveries that wait behind it.
package struct HeldDeliveries: Sendable {
    package let hold: OperatorHold
    /// The number of deliveries behind the hold, counted up to ``StoreStatus/most`` in each backlog.
    package let waiting: Int
    /// Whether there are more deliveries than were counted.
    package let isCapped: Bool
    /// Backlogs that also contain other deliveries, so that the held ones were not counted there.
    ///
    /// Deliveries that were queued before the type was held leave such a backlog in their turn.
    package let mixed: [String]
    package let asOf: Timestamp

    package init(_ hold: OperatorHold, _ backlogs: [WaitingBacklog], asOf: Timestamp) {
        self.hold = hold
        self.asOf = asOf
        let own = backlogs.filter { OutletScope($0.name).map(hold.scope.owns) ?? false }
        waiting = own.map(\.count).reduce(0, +)
        isCapped = own.contains { $0.count >= StoreStatus.most }
        mixed = backlogs.filter { backlog in
            backlog.count > 0
                && OutletScope(backlog.name).map { hold.scope.mayWait(in: $0) && !hold.scope.owns($0) } ?? false
        }.map(\.name)
    }

    /// Returns all active holds.
    package static func all(_ store: StoreStatus) -> [HeldDeliveries] {
        let now = SystemTime().timestamp
        return store.holds.map { HeldDeliveries($0, store.backlogs, asOf: now) }
    }

    /// The count as `12,431`, or `at least 100,000`.
    package var count: String { atLeast + waiting.grouped }

    /// The count with its noun and the mixed backlogs, as `at least 0 deliveries (drop/expo may contain more)`.
    package var countAndWhere: String {
        let count = atLeast + waiting.deliveries
        return mixed.isEmpty ? count : "\(count) (\(names) may contain more)"
    }

    /// Whether no delivery waits behind the hold.
    package var isEmpty: Bool { waiting == 0 && mixed.isEmpty }

    private var atLeast: String { isCapped || !mixed.isEmpty ? "at least " : "" }

    /// The names of the mixed backlogs.
    private var names: String {
        mixed.count > 3 ? "\(mixed[0]) and \(mixed.count - 1) others" : mixed.joined(separator: ", ")
    }

    /// The deliveries directly after the hold was placed, while workers still take them out of mixed backlogs.
    package var countAtFirst: String {
        let number = hold.number
        let ways = "bellhop hold discard \(number) [--event ID] ends them, bellhop hold release \(number) sends them."
        guard !mixed.isEmpty else { return "Deliveries behind it: \(count). \(ways)" }
        return "Workers are moving deliveries of this type from \(names) behind it; bellhop hold shows their number "
            + "within seconds. \(ways)"
    }

    /// The line for the status, which lists all holds.
    package var problem: String {
        let verb = waiting == 1 ? "waits and is" : "wait and are"
        let wait = isEmpty ? "nothing waits behind it" : "\(countAndWhere) \(verb) not sent"
        return "\(hold.scope.words) has been held for \(since) (\(hold.operator): \(hold.because)); \(wait): "
            + "bellhop hold shows what can be done"
    }

    private var since: String {
        max(.zero, Duration.microseconds(asOf.microseconds - hold.placedAt.microseconds)).roughly
    }

    package var json: JSONValue {
        .members([
            ("hold", .int(hold.number)), ("app", .string(hold.scope.app.text)),
            ("type", .optional(hold.scope.type?.text)), ("provider", .optional(hold.scope.provider)),
            ("placedAt", .string(hold.placedAt.description)), ("by", .string(hold.operator)),
            ("because", .string(hold.because)), ("waiting", .int(waiting)), ("waitingIsCapped", .bool(isCapped)),
            ("mayWaitAmong", .array(mixed.map(JSONValue.string))),
            ("unexplainedBy", .optional(hold.unexplainedBy)),
        ])
    }
}

extension HoldScope {
    /// Whether this hold covers all deliveries of a backlog.
    ///
    /// A hold on a type has separate backlogs.
    func owns(_ part: OutletScope) -> Bool {
        mayWait(in: part) && (type == nil || part.type == type)
    }
}

extension OperatorHold {
    /// The number and the scope, for an answer about something that the hold stops.
    var reference: JSONValue { .members([("hold", .int(number)), ("covers", .string(scope.words))]) }

    /// The operator, if the reason of the hold is not given yet.
    var unexplainedBy: String? { because == ActingOperator.noReasonYet ? self.operator : nil }
}
