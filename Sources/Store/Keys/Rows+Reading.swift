import BellhopRules
package import Postgres

/// Further functions to read values from rows.
extension Rows {
    /// Returns one value per row.
    func map<Value>(_ read: (Rows, Int) throws(PostgresError) -> Value) throws(PostgresError) -> [Value] {
        var values: [Value] = []
        values.reserveCapacity(count)
        for row in indices { values.append(try read(self, row)) }
        return values
    }

    /// Returns one value per valid row.
    func compactMap<Value>(_ read: (Rows, Int) throws(PostgresError) -> Value?) throws(PostgresError) -> [Value] {
        var values: [Value] = []
        values.reserveCapacity(count)
        for row in indices { if let value = try read(self, row) { values.append(value) } }
        return values
    }

    /// Returns a column of texts.
    func texts(_ column: Column = 0) throws(PostgresError) -> [String] {
        try map { (rows, row) throws(PostgresError) in try rows.text(row, column) }
    }

    func timestamp(_ row: Int, _ column: Column) throws(PostgresError) -> Timestamp? {
        try optionalInstant(row, column).map(Timestamp.init(clamping:))
    }

    /// Reads a time that is never NULL.
    func moment(_ row: Int, _ column: Column) throws(PostgresError) -> Timestamp {
        Timestamp(clamping: try instant(row, column))
    }

    package func number(_ row: Int, _ column: Column) throws(PostgresError) -> Int {
        Int(clamping: try integer(row, column))
    }

    /// Reads a JSON object; `nil` also for other JSON, which no Bellhop process writes.
    func optionalObject(_ row: Int, _ column: Column) throws(PostgresError) -> JSONObject? {
        guard let json = try optionalJSON(row, column),
            case .success(.object(let object)) = JSONParser(limits: .event).parse(json)
        else { return nil }
        return object
    }

    /// Reads a JSON object as text; `nil` also for other JSON, which no Bellhop process writes.
    func canonicalObject(_ row: Int, _ column: Column) throws(PostgresError) -> CanonicalObject? {
        try withBytes(row, column) { CanonicalObject($0) } ?? nil
    }

    /// Reads a row's position among the parameters, from 0.
    ///
    /// The database counts from 1.
    func place(_ row: Int, _ column: Column, in places: Range<Int>) throws(PostgresError) -> Int? {
        guard let place = Int(exactly: try integer(row, column) - 1), places.contains(place) else { return nil }
        return place
    }

    /// Reads a key from the columns app and user_id.
    func recipientKey(_ row: Int) throws(PostgresError) -> UserKey? {
        UserKey(try text(row, 0), try text(row, 1))
    }
}
