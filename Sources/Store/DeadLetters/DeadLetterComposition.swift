package import Postgres

/// The kinds of items in a selection of dead letters.
///
/// A group has one fingerprint, but it may contain items of several apps and types; a filter may select anything. A
/// question before an act must therefore name the kinds and not only count the items.
package struct DeadLetterComposition: Sendable, Equatable {
    /// The items of one reason, app and type.
    package struct Part: Sendable, Equatable {
        package let reason: String
        package let app: String?
        package let eventType: String?
        package let items: Int
    }

    /// The largest parts first, at most ``most``.
    package let parts: [Part]
    /// The number of further parts.
    package let otherParts: Int
    /// The number of items in them.
    package let otherItems: Int

    /// As many as a sentence can name.
    package static let most = 5

    package static let empty = DeadLetterComposition(parts: [], otherParts: 0, otherItems: 0)

    /// Creates a composition from the largest parts and the totals.
    init(_ parts: [Part], parts count: Int, items: Int) {
        self.init(
            parts: parts,
            otherParts: count - parts.count,
            otherItems: items - parts.map(\.items).reduce(0, +)
        )
    }

    private init(parts: [Part], otherParts: Int, otherItems: Int) {
        self.parts = parts
        self.otherParts = otherParts
        self.otherItems = otherItems
    }

    /// Creates a composition of items in memory.
    package init(of causes: some Sequence<DeadLetterCause>) {
        var tally = Tally()
        for cause in causes { tally.add(cause) }
        self = tally.composition
    }

    /// Counts items by their kind.
    package struct Tally: Sendable {
        private struct Kind: Hashable {
            let reason: String
            let app: String?
            let eventType: String?
        }

        private var items: [Kind: Int] = [:]
        private var beyond = 0

        /// Apps and types of rejected messages are arbitrary texts, so their number is limited.
        private static let mostKinds = 1_000

        package init() {}

        package mutating func add(_ cause: DeadLetterCause) {
            let kind = Kind(reason: cause.reason, app: cause.app, eventType: cause.eventType)
            if items[kind] == nil, items.count >= Self.mostKinds {
                beyond += 1
            } else {
                items[kind, default: 0] += 1
            }
        }

        package var composition: DeadLetterComposition {
            let parts = items.map { kind, count in
                Part(reason: kind.reason, app: kind.app, eventType: kind.eventType, items: count)
            }
            let sorted = parts.sorted { left, right in
                (right.items, left.app ?? "", left.eventType ?? "", left.reason)
                    < (left.items, right.app ?? "", right.eventType ?? "", right.reason)
            }
            return DeadLetterComposition(
                Array(sorted.prefix(DeadLetterComposition.most)),
                parts: parts.count + (beyond > 0 ? 1 : 0),
                items: items.values.reduce(beyond, +)
            )
        }
    }
}

extension DeadLetterComposition.Part {
    /// Creates a part from the columns of a query.
    init(_ rows: Rows, _ row: Int) throws(PostgresError) {
        reason = try rows.text(row, "reason")
        app = try rows.optionalText(row, .name("app"))
        eventType = try rows.optionalText(row, .name("event_type"))
        items = try rows.number(row, "items")
    }
}

extension DeadLetterAdmin {
    /// Returns the kinds of the matching items.
    package func composition(_ filter: DeadLetterFilter) async throws(PostgresError) -> DeadLetterComposition {
        let chosen = filter.selection(of: "d.reason, d.app, d.event_type")
        let sql = """
            SELECT reason, app, event_type, count(*) AS items, count(*) OVER () AS parts,
                   (sum(count(*)) OVER ())::bigint AS total
            FROM (\(chosen.sql)) AS chosen GROUP BY reason, app, event_type
            ORDER BY items DESC, app, event_type, reason LIMIT \(DeadLetterComposition.most)
            """
        let rows = try await pool.run(Statement(sql, effect: .reads), chosen.parameters)
        guard !rows.isEmpty else { return .empty }
        return DeadLetterComposition(
            try rows.map(DeadLetterComposition.Part.init),
            parts: try rows.number(0, "parts"),
            items: try rows.number(0, "total")
        )
    }

    /// Returns the kinds of the matching items by fingerprint.
    func compositions(_ filter: DeadLetterFilter) async throws(PostgresError) -> [String: DeadLetterComposition] {
        let chosen = filter.selection(of: "d.fingerprint, d.reason, d.app, d.event_type")
        let sql = """
            SELECT * FROM (
                SELECT fingerprint, reason, app, event_type, count(*) AS items, count(*) OVER whole AS parts,
                       (sum(count(*)) OVER whole)::bigint AS total,
                       row_number() OVER (PARTITION BY fingerprint
                                          ORDER BY count(*) DESC, app, event_type, reason) AS place
                FROM (\(chosen.sql)) AS chosen GROUP BY fingerprint, reason, app, event_type
                WINDOW whole AS (PARTITION BY fingerprint)
            ) AS parts WHERE place <= \(DeadLetterComposition.most) ORDER BY fingerprint, place
            """
        let rows = try await pool.run(Statement(sql, effect: .reads), chosen.parameters)
        var found: [String: (parts: [DeadLetterComposition.Part], row: Int)] = [:]
        for row in rows.indices {
            let part = try DeadLetterComposition.Part(rows, row)
            found[try rows.text(row, "fingerprint"), default: ([], row)].parts.append(part)
        }
        var compositions: [String: DeadLetterComposition] = [:]
        for (fingerprint, (parts, row)) in found {
            compositions[fingerprint] = DeadLetterComposition(
                parts,
                parts: try rows.number(row, "parts"),
                items: try rows.number(row, "total")
            )
        }
        return compositions
    }
}
