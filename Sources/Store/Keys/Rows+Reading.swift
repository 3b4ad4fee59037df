import BellhopRules
import Postgres

/// What the books read of rows beside the types of columns.
extension Rows {
    /// One value for each row.
    func map<Value>(_ read: (Rows, Int) throws(PostgresError) -> Value) throws(PostgresError) -> [Value] {
        var values: [Value] = []
        values.reserveCapacity(count)
        for row in indices { values.append(try read(self, row)) }
        return values
    }

    /// One value for each row that holds what a program of ours wrote.
    func compactMap<Value>(_ read: (Rows, Int) throws(PostgresError) -> Value?) throws(PostgresError) -> [Value] {
        var values: [Value] = []
        values.reserveCapacity(count)
        for row in indices { if let value = try read(self, row) { values.append(value) } }
        return values
    }

    /// A column of texts.
    func texts(_ column: Column = 0) throws(PostgresError) -> [String] {
        try map { (rows, row) throws(PostgresError) in try rows.text(row, column) }
    }

    func timestamp(_ row: Int, _ column: Column) throws(PostgresError) -> Timestamp? {
        try optionalInstant(row, column).map(Timestamp.init(clamping:))
    }

    /// A time that is always there.
    func moment(_ row: Int, _ column: Column) throws(PostgresError) -> Timestamp {
        Timestamp(clamping: try instant(row, column))
    }

    func number(_ row: Int, _ column: Column) throws(PostgresError) -> Int {
        Int(clamping: try integer(row, column))
    }

    /// An object of JSON; nil also where something else stands, which no program of ours wrote.
    func optionalObject(_ row: Int, _ column: Column) throws(PostgresError) -> JSONObject? {
        guard let json = try optionalJSON(row, column),
            case .success(.object(let object)) = JSONParser(limits: .event).parse(json)
        else { return nil }
        return object
    }

    /// The place, from 0, of what a row is about among the parameters: the database counts them from 1.
    func place(_ row: Int, _ column: Column, in places: Range<Int>) throws(PostgresError) -> Int? {
        guard let place = Int(exactly: try integer(row, column) - 1), places.contains(place) else { return nil }
        return place
    }

    /// From the columns app and user_id.
    func recipientKey(_ row: Int) throws(PostgresError) -> RecipientKey? {
        RecipientKey(try text(row, 0), try text(row, 1))
    }
}
