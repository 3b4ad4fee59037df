import Foundation
import Postgres
import Workbench

/// A look at a table, as the server goes about it.
struct TableLook: Sendable {
    /// The beginning of the statement.
    let statement: String
    let kind: String
    let table: String
    let index: String
    /// What of the index is read; empty for all of it.
    let condition: String
    /// Whether it may stop after some rows: nothing but locks lies between it and a LIMIT.
    let isLimited: Bool
}

extension TableLook: CustomStringConvertible {
    var description: String { "\(kind) of \(table) by \(index) where \(condition) in: \(statement)" }
}

/// The plans of all statements that a connection has prepared.
enum ServerPlans {
    /// Each look at a table in them; the pool has a single connection.
    static func looks(on pool: PostgresPool) async throws -> [TableLook] {
        var looks: [TableLook] = []
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

    /// What was prepared so far and can be explained.
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
        /// What it is to the node above.
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

        /// What hands on each row as it comes.
        private static let streams: Set<String> = ["LockRows", "Subquery Scan", "Nested Loop", "Merge Append"]

        func collect(of statement: String, isLimited: Bool, into looks: inout [TableLook]) {
            // What a bitmap is made of stands below its heap.
            if kind.hasSuffix("Scan"), kind != "Bitmap Heap Scan", table != nil || index != nil {
                looks.append(
                    TableLook(
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
            // What is asked once, before all rows, is no side of a join.
            let questions = (parts ?? []).filter { $0.relation == "InitPlan" }
            for part in questions { part.collect(of: statement, isLimited: false, into: &looks) }
            let sides = (parts ?? []).filter { $0.relation != "InitPlan" }
            for (place, part) in sides.enumerated() {
                // Only the outer side of a join is read no further than it takes; of partitions each is.
                let isStream = place == 0 || kind == "Merge Append"
                part.collect(of: statement, isLimited: goesOn && isStream, into: &looks)
            }
        }
    }
}

extension String {
    /// With single blanks.
    var normalised: String { split(whereSeparator: \.isWhitespace).joined(separator: " ") }
}
