import BellhopRules
import CLI
import ServiceRuntime
import Store

/// A hold with the deliveries behind it, for people and for programs.
struct HoldView: Sendable {
    let hold: OperatorHold
    /// The number of deliveries behind the hold, counted up to ``StoreStatus/most`` in each backlog.
    let waiting: Int
    /// Whether there are more deliveries than were counted.
    let isCapped: Bool
    /// Backlogs that also contain other deliveries, so that the held ones were not counted there.
    ///
    /// Deliveries that were queued before the type was held leave such a backlog in their turn.
    let mixed: [String]
    let asOf: Timestamp

    init(_ hold: OperatorHold, _ backlogs: [StoreStatus.Backlog], asOf: Timestamp) {
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
    static func all(_ store: StoreStatus) -> [HoldView] {
        let now = SystemTime().timestamp
        return store.holds.map { HoldView($0, store.backlogs, asOf: now) }
    }

    /// The count as `12,431`, or `100,000 or more`.
    var count: String { waiting.grouped + (isCapped || !mixed.isEmpty ? " or more" : "") }

    /// The count with the mixed backlogs, as `0 or more (others may stand among what waits in drop/expo)`.
    var countAndWhere: String {
        mixed.isEmpty ? count : "\(count) (others may stand among what waits in \(names))"
    }

    /// The names of the mixed backlogs.
    private var names: String {
        mixed.count > 3 ? "\(mixed[0]) and \(mixed.count - 1) others" : mixed.joined(separator: ", ")
    }

    /// The count directly after the hold was placed, while workers still take its deliveries out of mixed backlogs.
    var countAtFirst: String {
        guard !mixed.isEmpty else { return "\(count) wait there now." }
        return "\(waiting.grouped) wait there now; what stands among others in \(names) is taken out of there within "
            + "seconds, and bellhop hold counts it then."
    }

    /// The line for the status, which lists all holds.
    var problem: String {
        "\(hold.scope.words) is held for \(since): \(hold.because) (\(hold.operator)); \(countAndWhere) wait: "
            + "bellhop hold release \(hold.number)"
    }

    private var since: String {
        max(.zero, Duration.microseconds(asOf.microseconds - hold.placedAt.microseconds)).roughly
    }

    static func table(_ views: [HoldView]) -> TextTable {
        TextTable(
            ["hold", "app", "type", "provider", "since", "by", "waiting", "because"],
            texts: [1, 2, 3, 4, 5, 7],
            rows: views.map { view in
                let hold = view.hold
                return [
                    String(hold.number), hold.scope.app.text, hold.scope.type?.text ?? "all",
                    hold.scope.provider ?? "all", HumanText.ago(hold.placedAt, view.asOf),
                    HumanText.cut(hold.operator, to: 16), view.count, HumanText.cut(hold.because, to: 60),
                ]
            }
        )
    }

    var json: JSONValue {
        .members([
            ("hold", .int(hold.number)), ("app", .string(hold.scope.app.text)),
            ("type", .optional(hold.scope.type?.text)), ("provider", .optional(hold.scope.provider)),
            ("placedAt", .string(hold.placedAt.description)), ("by", .string(hold.operator)),
            ("because", .string(hold.because)), ("waiting", .int(waiting)), ("waitingIsCapped", .bool(isCapped)),
            ("mayWaitAmong", .array(mixed.map(JSONValue.string))),
        ])
    }
}

extension HoldScope {
    /// Whether this hold covers all deliveries of a backlog.
    ///
    /// A hold on a type has separate backlogs.
    fileprivate func owns(_ part: OutletScope) -> Bool {
        mayWait(in: part) && (type == nil || part.type == type)
    }
}
