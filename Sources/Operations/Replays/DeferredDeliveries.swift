package import BellhopJSON
import BellhopRules
import Store

/// The deliveries of a replay that had to wait in the ledger for one reason, with the holds that stop them now.
package struct DeferredDeliveries: Sendable, Equatable {
    /// The reason in the ledger; `nil` if there is none.
    package let reason: String?
    /// The active holds that cover the deliveries, if a hold was the reason.
    package let holds: [HoldName]
    package private(set) var count: Int

    /// An active hold, by its number and its scope in words.
    package struct HoldName: Sendable, Hashable {
        package let number: Int64
        package let scope: String
    }

    package var json: JSONValue {
        .members([
            ("reason", .optional(reason)), ("count", .int(count)), ("holds", .array(holds.map { .int($0.number) })),
        ])
    }

    /// The number, the reason and the command that ends the wait, in one sentence.
    package var words: String {
        guard reason == WaitReason.held.rawValue else {
            return "Deferred, \(reason ?? "without a reason"): \(count.grouped), sent when due"
        }
        guard !holds.isEmpty else {
            return "Deferred, held: \(count.grouped); their hold was released since, so they are sent in their turn"
        }
        let names = holds.map { "\($0.number) (\($0.scope))" }.joined(separator: " and ")
        let commands = holds.map { "bellhop hold release \($0.number)" }.joined(separator: " and ")
        return "Deferred, held: \(count.grouped) behind hold \(names); \(commands) "
            + (holds.count == 1 ? "sends them" : "send them")
    }

    /// Joins the kinds that wait for the same reason and behind the same holds, those with the most items first.
    static func all(_ items: [DeferredReplayItems], _ holds: [OperatorHold]) -> [DeferredDeliveries] {
        var all: [DeferredDeliveries] = []
        for item in items {
            let isHeld = item.reason == WaitReason.held.rawValue
            let covering = holds.filter { $0.scope.covers(app: item.app, provider: item.provider, type: item.type) }
            let names = isHeld ? covering.map(HoldName.init) : []
            if let place = all.firstIndex(where: { $0.reason == item.reason && $0.holds == names }) {
                all[place].count += item.count
            } else {
                all.append(DeferredDeliveries(reason: item.reason, holds: names, count: item.count))
            }
        }
        return all
    }
}

extension DeferredDeliveries.HoldName {
    fileprivate init(_ hold: OperatorHold) {
        self.init(number: hold.number, scope: hold.scope.words)
    }
}

extension HoldScope {
    /// Whether the hold stops deliveries of this app, provider and type, as their dead letters name them.
    func covers(app: String?, provider: String?, type: String?) -> Bool {
        guard let app = app.flatMap(AppID.init(validating:)) else { return false }
        return covers(app, provider: provider ?? "", type: type.flatMap(EventType.init(validating:)))
    }
}
