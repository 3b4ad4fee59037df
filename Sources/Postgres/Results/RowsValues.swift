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
        try field(row, column, FieldReader.text)
    }

    /// Reads `smallint`, `integer`, `bigint` and `oid`.
    ///
    /// A `numeric` (such as `sum(bigint)`) needs a cast in the statement.
    package func integer(_ row: Int, _ column: Column) throws(PostgresError) -> Int64 {
        guard let value = try optionalInteger(row, column) else { throw unexpectedNull(row, column) }
        return value
    }

    package func optionalInteger(_ row: Int, _ column: Column) throws(PostgresError) -> Int64? {
        try field(row, column, FieldReader.integer)
    }

    /// Reads `real` and `double precision`.
    package func double(_ row: Int, _ column: Column) throws(PostgresError) -> Double {
        guard let value = try optionalDouble(row, column) else { throw unexpectedNull(row, column) }
        return value
    }

    package func optionalDouble(_ row: Int, _ column: Column) throws(PostgresError) -> Double? {
        try field(row, column, FieldReader.double)
    }

    package func boolean(_ row: Int, _ column: Column) throws(PostgresError) -> Bool {
        guard let value = try optionalBoolean(row, column) else { throw unexpectedNull(row, column) }
        return value
    }

    package func optionalBoolean(_ row: Int, _ column: Column) throws(PostgresError) -> Bool? {
        try field(row, column, FieldReader.boolean)
    }

    /// Reads `bytea`.
    package func bytes(_ row: Int, _ column: Column) throws(PostgresError) -> [UInt8] {
        guard let value = try optionalBytes(row, column) else { throw unexpectedNull(row, column) }
        return value
    }

    package func optionalBytes(_ row: Int, _ column: Column) throws(PostgresError) -> [UInt8]? {
        try field(row, column, FieldReader.bytes)
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
        try field(row, column) { (bytes, type) throws(DecodingFault) in read(try FieldReader.content(bytes, type)) }
    }

    /// Reads the UTF-8 of a `json` or `jsonb` value.
    package func json(_ row: Int, _ column: Column) throws(PostgresError) -> [UInt8] {
        guard let value = try optionalJSON(row, column) else { throw unexpectedNull(row, column) }
        return value
    }

    package func optionalJSON(_ row: Int, _ column: Column) throws(PostgresError) -> [UInt8]? {
        try field(row, column, FieldReader.json)
    }

    /// Reads a `timestamptz` in microseconds since 1970-01-01 UTC; an infinity is rejected.
    package func instant(_ row: Int, _ column: Column) throws(PostgresError) -> Int64 {
        guard let value = try optionalInstant(row, column) else { throw unexpectedNull(row, column) }
        return value
    }

    package func optionalInstant(_ row: Int, _ column: Column) throws(PostgresError) -> Int64? {
        try field(row, column, FieldReader.instant)
    }
}
