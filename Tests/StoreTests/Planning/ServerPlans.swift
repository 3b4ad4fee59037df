import Foundation
import IntegrationSupport
import Postgres

/// One scan of a table in a plan.
struct TableScan: Sendable {
    /// The beginning of the statement.
    let statement: String
    let kind: String
    let table: String
    let index: String
    /// The index condition; empty if the whole index is read.
    let condition: String
    /// Whether the scan may stop after some rows: only locks separate it from a LIMIT.
    let isLimited: Bool
}

extension TableScan: CustomStringConvertible {
    var description: String { "\(kind) of \(table) by \(index) where \(condition) in: \(statement)" }
}

/// The plans of all statements that a connection has prepared.
enum ServerPlans {
    /// Returns every scan of a table in the plans; the pool has a single connection.
    static func looks(on pool: PostgresPool) async throws -> [TableScan] {
        var looks: [TableScan] = []
        for statement in try await prepared(on: pool) {
            let nothing = Array(repeating: "NULL", count: statement.parameters).joined(separator: ", ")
            let values = statement.parameters == 0 ? "" : "(\(nothing))"
            let rows = try await pool.run(Statement("EXPLAIN (FORMAT JSON) EXECUTE \(statement.name)\(values)"))
            let text = Data(try rows.optionalJSON(0, 0) ?? [])
            for explained in try JSONDecoder().decode([Explained].self, from: text) {
                explained.plan.collect(of: statement.sql.normalised, isLimited: false, into: &looks)
            }
        }
        return looks
    }

    struct Prepared: Sendable {
        let name: String
        let sql: String
        let parameters: Int
    }

    /// Returns the prepared statements that can be explained.
    static func prepared(on pool: PostgresPool) async throws -> [Prepared] {
        let rows = try await pool.run(
            """
            SELECT name, statement, cardinality(parameter_types)::bigint FROM pg_prepared_statements
            WHERE statement !~ '^(EXPLAIN|BEGIN|COMMIT)' AND statement !~ 'pg_(prepared_statements|stat)'
            """
        )
        var prepared: [Prepared] = []
        for row in rows.indices {
            prepared.append(
                Prepared(
                    name: try rows.text(row, 0),
                    sql: try rows.text(row, 1),
                    parameters: Int(clamping: try rows.integer(row, 2))
                )
            )
        }
        return prepared
    }

    private struct Explained: Decodable {
        let plan: Node

        enum CodingKeys: String, CodingKey {
            case plan = "Plan"
        }
    }

    private struct Node: Decodable {
        let kind: String
        let table: String?
        let index: String?
        let condition: String?
        /// The node's role in its parent.
        let relation: String?
        let parts: [Node]?

        enum CodingKeys: String, CodingKey {
            case kind = "Node Type"
            case table = "Relation Name"
            case index = "Index Name"
            case condition = "Index Cond"
            case relation = "Parent Relationship"
            case parts = "Plans"
        }

        /// Nodes that pass on each row immediately.
        private static let streams: Set<String> = ["LockRows", "Subquery Scan", "Nested Loop", "Merge Append"]

        func collect(of statement: String, isLimited: Bool, into looks: inout [TableScan]) {
            // The index scan of a bitmap is below its heap scan.
            if kind.hasSuffix("Scan"), kind != "Bitmap Heap Scan", table != nil || index != nil {
                looks.append(
                    TableScan(
                        statement: String(statement.prefix(160)),
                        kind: kind,
                        table: table ?? index ?? "",
                        index: index ?? "",
                        condition: condition ?? "",
                        isLimited: isLimited
                    )
                )
            }
            let goesOn = kind == "Limit" || isLimited && Self.streams.contains(kind)
            // A query that runs once, before all rows, is not a side of a join.
            let questions = (parts ?? []).filter { $0.relation == "InitPlan" }
            for part in questions { part.collect(of: statement, isLimited: false, into: &looks) }
            let sides = (parts ?? []).filter { $0.relation != "InitPlan" }
            for (place, part) in sides.enumerated() {
                // Only the outer side of a join is read no further than necessary; of partitions each is.
                let isStream = place == 0 || kind == "Merge Append"
                part.collect(of: statement, isLimited: goesOn && isStream, into: &looks)
            }
        }
    }
}

extension String {
    /// The text with single spaces.
    var normalised: String { split(whereSeparator: \.isWhitespace).joined(separator: " ") }
}
