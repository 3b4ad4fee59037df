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

    deinit { PQclear(result) }

    package var isEmpty: Bool { count == 0 }

    /// The indices of the rows.
    package var indices: Range<Int> { 0..<count }

    package var columnNames: [String] { columns.map(\.name) }

    /// The number of rows that an INSERT, UPDATE, DELETE or SELECT affected or returned; 0 for other statements.
    package var affectedCount: Int { PQcmdTuples(result).flatMap { Int(String(cString: $0)) } ?? 0 }

    /// The server's command tag, such as `COMMIT`, `ROLLBACK` or `INSERT 0 1`.
    var commandTag: String { PQcmdStatus(result).map { String(cString: $0) } ?? "" }

    /// The parameter types in the description of a prepared statement.
    var parameterTypes: [ServerType] { (0..<PQnparams(result)).map { ServerType(oid: PQparamtype(result, $0)) } }

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

/// Typed access to single fields.
///
/// Each pair reads the same types: one function rejects NULL, the other returns `nil` for it.
extension Rows {
    /// Reads `text` and similar types, `json`, `jsonb` and enums.
    package func text(_ row: Int, _ column: Column) throws(PostgresError) -> String {
        guard let value = try optionalText(row, column) else { throw unexpectedNull(row, column) }
        return value
    }

    package func optionalText(_ row: Int, _ column: Column) throws(PostgresError) -> String? {
        try field(row, column, ColumnDecoder.text)
    }

    /// Reads `smallint`, `integer`, `bigint` and `oid`.
    ///
    /// A `numeric` (such as `sum(bigint)`) needs a cast in the statement.
    package func integer(_ row: Int, _ column: Column) throws(PostgresError) -> Int64 {
        guard let value = try optionalInteger(row, column) else { throw unexpectedNull(row, column) }
        return value
    }

    package func optionalInteger(_ row: Int, _ column: Column) throws(PostgresError) -> Int64? {
        try field(row, column, ColumnDecoder.integer)
    }

    /// Reads `real` and `double precision`.
    package func double(_ row: Int, _ column: Column) throws(PostgresError) -> Double {
        guard let value = try optionalDouble(row, column) else { throw unexpectedNull(row, column) }
        return value
    }

    package func optionalDouble(_ row: Int, _ column: Column) throws(PostgresError) -> Double? {
        try field(row, column, ColumnDecoder.double)
    }

    package func boolean(_ row: Int, _ column: Column) throws(PostgresError) -> Bool {
        guard let value = try optionalBoolean(row, column) else { throw unexpectedNull(row, column) }
        return value
    }

    package func optionalBoolean(_ row: Int, _ column: Column) throws(PostgresError) -> Bool? {
        try field(row, column, ColumnDecoder.boolean)
    }

    /// Reads `bytea`.
    package func bytes(_ row: Int, _ column: Column) throws(PostgresError) -> [UInt8] {
        guard let value = try optionalBytes(row, column) else { throw unexpectedNull(row, column) }
        return value
    }

    package func optionalBytes(_ row: Int, _ column: Column) throws(PostgresError) -> [UInt8]? {
        try field(row, column, ColumnDecoder.bytes)
    }

    /// Passes the UTF-8 of a text, `json` or `jsonb`, or the bytes of a `bytea`, to `read` without a copy; returns
    /// `nil` for NULL.
    ///
    /// The bytes are valid only during the call.
    package func withBytes<Value>(
        _ row: Int,
        _ column: Column,
        _ read: (UnsafeRawBufferPointer) -> Value
    ) throws(PostgresError) -> Value? {
        try field(row, column) { (bytes, type) throws(DecodingFault) in read(try ColumnDecoder.content(bytes, type)) }
    }

    /// Reads the UTF-8 of a `json` or `jsonb` value.
    package func json(_ row: Int, _ column: Column) throws(PostgresError) -> [UInt8] {
        guard let value = try optionalJSON(row, column) else { throw unexpectedNull(row, column) }
        return value
    }

    package func optionalJSON(_ row: Int, _ column: Column) throws(PostgresError) -> [UInt8]? {
        try field(row, column, ColumnDecoder.json)
    }

    /// Reads a `timestamptz` in microseconds since 1970-01-01 UTC; an infinity is rejected.
    package func instant(_ row: Int, _ column: Column) throws(PostgresError) -> Int64 {
        guard let value = try optionalInstant(row, column) else { throw unexpectedNull(row, column) }
        return value
    }

    package func optionalInstant(_ row: Int, _ column: Column) throws(PostgresError) -> Int64? {
        try field(row, column, ColumnDecoder.instant)
    }
}

/// A column of a result, by its index (from 0) or by its name in the statement's spelling.
package enum Column: Sendable, Hashable, ExpressibleByIntegerLiteral, ExpressibleByStringLiteral {
    case index(Int)
    case name(String)

    package init(integerLiteral index: Int) { self = .index(index) }

    package init(stringLiteral name: String) { self = .name(name) }
}

extension Column: CustomStringConvertible {
    package var description: String {
        switch self {
        case .index(let index): "\(index)"
        case .name(let name): "\"\(name)\""
        }
    }
}
