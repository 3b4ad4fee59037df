package import BellhopJSON
import BellhopRules
package import Pipeline
import ServiceRuntime
import Settings

/// The result of a dry run.
///
/// Every item is counted, and the first ones are listed.
package struct DryRunSummary: Sendable {
    /// Predictions that are counted together.
    private struct Group: Hashable, Sendable {
        let kind: String
        let detail: String?

        init(_ prediction: ReplayPrediction) {
            kind = prediction.kind.rawValue
            // The instants until which deliveries would wait differ from user to user.
            let isInstant = prediction.kind == .quietUntil
            detail = isInstant ? prediction.detail?.split(separator: " ").first.map(String.init) : prediction.detail
        }

        init(kind: String) {
            self.kind = kind
            detail = "others"
        }

        var words: String { [kind, detail].compactMap { $0 }.joined(separator: ", ") }
    }

    /// The maximum number of listed items.
    ///
    /// An operator can narrow the filter to see others.
    package static let mostNamed = 1_000
    /// The maximum number of details that are counted separately.
    private static let mostDetails = 200

    private var counts: [Group: Int] = [:]
    /// The latest end of the waits of a group.
    private var ends: [Group: Timestamp] = [:]
    /// The first items, each with its predicted outcome.
    package private(set) var named: [JSONValue] = []
    package private(set) var unnamed = 0

    package mutating func add(_ prediction: ReplayPrediction, of deadID: String) {
        var foreseen = Group(prediction)
        if counts[foreseen] == nil, counts.count >= Self.mostDetails { foreseen = Group(kind: foreseen.kind) }
        counts[foreseen, default: 0] += 1
        if let until = prediction.until { ends[foreseen] = max(ends[foreseen] ?? until, until) }
        guard named.count < Self.mostNamed else {
            unnamed += 1
            return
        }
        named.append(
            .members([
                ("id", .string(deadID)), ("prediction", .string(prediction.kind.rawValue)),
                ("detail", .optional(prediction.detail)),
            ])
        )
    }

    package init() {}

    private var sorted: [(key: Group, value: Int)] {
        counts.sorted { ($1.value, $0.key.words) < ($0.value, $1.key.words) }
    }

    /// The predictions in words with the number of their items, most frequent first.
    package var rows: [(words: String, items: Int)] {
        sorted.map { entry in
            let end = ends[entry.key].map { ", the last at \(HumanText.instant($0))" } ?? ""
            return (entry.key.words + end, entry.value)
        }
    }

    package var json: JSONValue {
        .array(
            sorted.map { entry in
                .members(
                    [
                        ("prediction", .string(entry.key.kind)), ("detail", .optional(entry.key.detail)),
                        ("count", .int(entry.value)),
                    ] + (ends[entry.key].map { [("until", .string($0.description))] } ?? [])
                )
            }
        )
    }
}
