import CPostgreSQL

/// The answer to one statement: its rows, which are read in place and converted only on request.
///
/// libpq owns the memory, which lives as long as this object; accessors return copies.
///
/// Thread safety: the manual says that "PGresult objects are normally read-only after creation, and so can be passed
/// around freely between threads". Nothing here changes one, and only `deinit` frees it.
package final class Rows: @unchecked Sendable {
    private let result: OpaquePointer
    package let count: Int
    /// Names and types, by index.
    private let columns: [(name: String, type: ServerType)]
    /// The history of the session that ran the statement.
    package let history: DatabaseHistory

    /// Takes ownership of the result and clears it at the end.
    init(owning result: OpaquePointer, history: DatabaseHistory) {
        self.result = result
        self.history = history
        count = Int(PQntuples(result))
        columns = (0..<PQnfields(result)).map { index in
            let name = PQfname(result, index).map { String(cString: $0) } ?? ""
            return (name, ServerType(oid: PQftype(result, index)))
        }
    }

    deinit {
        PQclear(result)
    }

    package var isEmpty: Bool { count == 0 }

    /// The indices of the rows.
    package var indices: Range<Int> { 0..<count }

    package var columnNames: [String] { columns.map(\.name) }

    /// The number of rows that an INSERT, UPDATE, DELETE or SELECT affected or returned; 0 for other statements.
    package var affectedCount: Int {
        PQcmdTuples(result).flatMap { Int(String(cString: $0)) } ?? 0
    }

    /// The server's command tag, such as `COMMIT`, `ROLLBACK` or `INSERT 0 1`.
    var commandTag: String {
        PQcmdStatus(result).map { String(cString: $0) } ?? ""
    }

    /// The parameter types in the description of a prepared statement.
    var parameterTypes: [ServerType] {
        (0..<PQnparams(result)).map { ServerType(oid: PQparamtype(result, $0)) }
    }

    /// Returns the index of a column, so that a name is looked up once for many rows.
    package func index(of column: Column) throws(PostgresError) -> Int {
        switch column {
        case .index(let index):
            guard columns.indices.contains(index) else { throw noSuch(column) }
            return index
        case .name(let name):
            guard let index = columns.firstIndex(where: { $0.name == name }) else { throw noSuch(column) }
            return index
        }
    }

    /// Reads one field.
    ///
    /// `read` receives its bytes, and is not called for NULL.
    func field<Value>(
        _ row: Int,
        _ column: Column,
        _ read: (UnsafeRawBufferPointer, ServerType) throws(DecodingFault) -> Value
    ) throws(PostgresError) -> Value? {
        let index = try index(of: column)
        guard row >= 0, row < count else {
            throw PostgresError(.unexpectedResult, "Row \(row) was asked for, but the result has \(count).")
        }
        // Both fit, because libpq counts them in 32 bits.
        let (row32, column32) = (Int32(truncatingIfNeeded: row), Int32(truncatingIfNeeded: index))
        if PQgetisnull(result, row32, column32) == 1 { return nil }
        let length = Int(PQgetlength(result, row32, column32))
        let bytes = UnsafeRawBufferPointer(start: PQgetvalue(result, row32, column32), count: length)
        do {
            return try read(bytes, columns[index].type)
        } catch {
            throw error.report(column: columns[index].name, type: columns[index].type)
        }
    }

    /// Returns the error for a NULL that the caller does not expect.
    func unexpectedNull(_ row: Int, _ column: Column) -> PostgresError {
        PostgresError(.unexpectedResult, "Column \(column) is NULL in row \(row), where a value was expected.")
    }

    private func noSuch(_ column: Column) -> PostgresError {
        PostgresError(
            .unexpectedResult,
            "There is no column \(column); the result has \(columnNames.joined(separator: ", "))."
        )
    }
}
