import Cryptography
import Postgres

/// Parameters of a statement that are columns of the same rows.
///
/// The statement and the parameters are both made from the table, so that names, numbers and values cannot differ.
struct ColumnTable<Row>: Sendable {
    /// One column: its name and type in the statement, and how a row provides its value.
    struct Column: Sendable {
        let name: String
        let element: ArrayParameter.Element
        /// The usual size of a value in bytes.
        let width: Int
        let append: @Sendable (inout ArrayParameter, Row) -> Void

        init(
            _ name: String,
            _ element: ArrayParameter.Element,
            width: Int = 8,
            append: @escaping @Sendable (inout ArrayParameter, Row) -> Void
        ) {
            self.name = name
            self.element = element
            self.width = width
            self.append = append
        }
    }

    /// The number of the first parameter.
    let first: Int
    let columns: [Column]

    /// The number of the first parameter after the table.
    var next: Int { first + columns.count }

    /// Returns a select list with every column, each as `read` takes it from its array.
    func selection(_ read: (String) -> String = { "unnest(\($0))" }) -> String {
        columns.enumerated().map { place, column in
            "\(read("$\(first + place)::\(column.element)[]")) AS \(column.name)"
        }.joined(separator: ", ")
    }

    /// Returns the names of the columns except `others`, each of `table` if one is given.
    func names(of table: String? = nil, except others: Set<String> = []) -> String {
        let prefix = table.map { "\($0)." } ?? ""
        return columns.filter { !others.contains($0.name) }.map { prefix + $0.name }.joined(separator: ", ")
    }
}

/// The values of a table's columns, filled row by row in their wire form.
struct ColumnValues<Row> {
    private let columns: [ColumnTable<Row>.Column]
    private var values: [ArrayParameter]

    /// Creates empty columns and reserves memory for `count` rows.
    init(_ table: ColumnTable<Row>, expecting count: Int) {
        columns = table.columns
        values = columns.map { ArrayParameter($0.element, expecting: count, width: $0.width) }
    }

    mutating func append(_ row: Row) {
        for index in columns.indices { columns[index].append(&values[index], row) }
    }

    var parameters: [Parameter] { values.map(Parameter.column) }
}

extension ArrayParameter {
    /// Appends a hash.
    mutating func append(_ half: HalfDigest) { half.withBytes { append(raw: $0) } }
}
