package import BellhopJSON
import BellhopRules
import Pipeline
import ServiceRuntime
package import Store

/// Corrected copies that can be sent in place of their originals, and the reasons why other items are left out.
package struct DeadLetterEdit: Sendable {
    /// The filter that selects the items; `nil` if it is a single one.
    let filter: DeadLetterFilter?
    var isOfOneItem: Bool { filter == nil }
    /// The time at which the items were counted.
    let asOf: Timestamp?
    package private(set) var corrections: [Correction] = []
    /// The predicted outcomes of the copies.
    package private(set) var predictions = DryRunSummary()
    /// The kinds of the items that are corrected.
    private var kinds = DeadLetterComposition.Tally()
    /// The number of items that are left out, by reason.
    private var leftOut: [String: Int] = [:]
    /// The changes of the first copy.
    private var changes: [String] = []
    /// The changed places and values, as the audit keeps them.
    let audited: [String]
    /// The size of all bodies.
    private(set) var bytes = 0

    /// Creates an edit of all items that match a filter, or of one item.
    init(of filter: DeadLetterFilter? = nil, asOf: Timestamp? = nil, audited: [String]) {
        self.filter = filter
        self.asOf = asOf
        self.audited = audited
    }

    mutating func add(
        _ correction: Correction,
        of cause: DeadLetterCause,
        _ prediction: ReplayPrediction,
        _ lines: @autoclosure () -> [String]
    ) {
        predictions.add(prediction, of: correction.original)
        if corrections.isEmpty { changes = lines() }
        bytes += correction.copy.origin.body.count
        corrections.append(correction)
        kinds.add(cause)
    }

    mutating func leaveOut(_ reason: String) { leftOut[reason, default: 0] += 1 }

    package var count: Int { corrections.count }

    package var question: ActQuestion {
        let items = DeadLetterCount.text(count, kinds.composition)
        let copies = isOfOneItem ? "a corrected copy" : "corrected copies"
        let object = "\(copies) in the place of \(items)"
        return ActQuestion(count: count, .sends, object, asOf: asOf, lines: lines, about: kinds.composition)
    }

    /// The changes of the first copy, and the items that are left out.
    package var lines: [String] {
        let first = isOfOneItem ? [] : corrections.prefix(1).map { "The first, \($0.original):" }
        return first + changes + commonReasons.map { "\($0.count.of("item stays", "items stay")): \($0.reason)" }
    }

    /// The reasons of most items that are left out, and the number of the others.
    ///
    /// A rejection names the faulty value, so that each item may have its own.
    private var commonReasons: [(reason: String, count: Int)] {
        let all = leftOut.map { (reason: $0.key, count: $0.value) }
            .sorted { ($1.count, $0.reason) < ($0.count, $1.reason) }
        let others = all.dropFirst(Self.mostReasons).map(\.count).reduce(0, +)
        return all.prefix(Self.mostReasons) + (others > 0 ? [("other reasons", others)] : [])
    }

    private static let mostReasons = 5

    /// The answer if no copy can be sent.
    package static let nothing = "None of them would be taken in; nothing was changed."

    /// The answer of a dry run.
    package var dryRunJSON: JSONValue {
        .members([("wouldSend", .int(count)), ("predictions", predictions.json), ("left", leftOutJSON)])
    }

    /// Returns the answer after a replay has begun to send the copies; without a replay, nothing was sent.
    package func json(items: Int, replay: Int64?) -> JSONValue {
        guard isOfOneItem, let copy = corrections.first?.copy, let replay else {
            return .members([
                ("items", .int(items)), ("left", leftOutJSON), ("replay", replay.map { .int($0) } ?? .null),
            ])
        }
        return .members([("items", .int(1)), ("copy", .string(copy.deadID)), ("replay", .int(replay))])
    }

    private var leftOutJSON: JSONValue {
        .members(commonReasons.sorted { $0.reason < $1.reason }.map { ($0.reason, JSONValue.int($0.count)) })
    }

    /// Returns the changes in lines.
    ///
    /// The old values stay masked, since they are personal data.
    static func lines(
        _ changes: [JSONEdits.Difference],
        _ copy: DeadLetterItem,
        _ before: DeadLetterItem.Origin
    ) -> [String] {
        func text(_ value: JSONValue) -> String {
            HumanText.cut(String(decoding: JSONWriter.canonicalBytes(of: value), as: UTF8.self), to: 200)
        }
        var lines: [String] = []
        for change in changes {
            if let before = change.before {
                let masked = change.place.text.isEmpty ? MaskedJSON.body(before) : MaskedJSON.part(before)
                lines.append("- \(change.placeName) \(text(masked))")
            }
            if let after = change.after { lines.append("+ \(change.placeName) \(text(after))") }
        }
        guard copy.origin.routingKey != before.routingKey else { return lines }
        return lines + [
            "- routing key \(HumanText.cut(before.routingKey, to: 100))", "+ routing key \(copy.origin.routingKey)",
        ]
    }
}

extension JSONEdits.Difference {
    /// The place, as `/data/amount` or `the whole body`.
    var placeName: String { place.text.isEmpty ? "the whole body" : place.text }
}
