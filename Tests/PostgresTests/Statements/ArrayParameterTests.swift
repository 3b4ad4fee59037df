import TestSupport
import Testing

@testable import Postgres

@Suite(
    "Columns filled element by element",
    .limitedConcurrency,
    .enabled(if: DatabaseFixture.isThere, DatabaseFixture.absence)
)
struct ArrayParameterTests {
    @Test("every kind of column is read back element by element, including NULLs")
    func roundTrip() async throws {
        try await DatabaseFixture.withPool { pool in
            let rows = try await pool.run(
                """
                SELECT * FROM unnest($1::text[], $2::bigint[], $3::boolean[], $4::bytea[], $5::jsonb[],
                                     $6::timestamptz[], $7::int[], $8::smallint[], $9::json[])
                WITH ORDINALITY AS r(t, i, b, y, j, z, i4, i2, o, n) ORDER BY n
                """,
                Self.columns.map(Parameter.column)
            )
            #expect(rows.count == 3)
            let places = 0..<3
            #expect(try places.map { try rows.optionalText($0, "t") } == ["é", nil, ""])
            #expect(try places.map { try rows.optionalInteger($0, "i") } == [.max, nil, -1])
            #expect(try places.map { try rows.optionalBoolean($0, "b") } == [true, nil, false])
            #expect(try places.map { try rows.optionalBytes($0, "y") } == [[0], nil, []])
            #expect(try places.map { try rows.optionalText($0, "j") } == ["[1]", nil, "null"])
            #expect(try places.map { try rows.optionalInstant($0, "z") } == [0, nil, 1])
            #expect(try places.map { try rows.optionalInteger($0, "i4") } == [1, nil, 3])
            #expect(try places.map { try rows.optionalInteger($0, "i2") } == [-1, nil, -3])
            #expect(try places.map { try rows.optionalText($0, "o") } == ["{}", nil, "[]"])
        }
    }

    /// Returns columns with three elements each, the second of them NULL.
    private static var columns: [ArrayParameter] {
        func column<Value>(
            _ element: ArrayParameter.Element,
            _ values: [Value?],
            _ append: (inout ArrayParameter, Value?) -> Void
        ) -> ArrayParameter {
            var column = ArrayParameter(element, expecting: values.count)
            for value in values { append(&column, value) }
            return column
        }
        let documents: [[UInt8]?] = [Array("[1]".utf8), nil, Array("null".utf8)]
        return [
            column(.text, ["é", nil, ""]) { $0.append($1) },
            column(.bigint, [Int64.max, nil, -1]) { $0.append($1) },
            column(.boolean, [true, nil, false]) { $0.append($1) },
            column(.bytea, [[UInt8(0)], nil, []]) { $0.append(bytes: $1) },
            column(.jsonb, documents) { $0.append(json: $1) },
            column(.timestamptz, [Int64(0), nil, 1]) { $0.append(instant: $1) },
            column(.integer, [Int64(1), nil, 3]) { $0.append($1) },
            column(.smallint, [Int64(-1), nil, -3]) { $0.append($1) },
            column(.text, ["{}", nil, "[]"]) { $0.append($1) },
        ]
    }

    @Test("an empty column is an empty array, not NULL")
    func empty() async throws {
        try await DatabaseFixture.withPool { pool in
            let rows = try await pool.run(
                "SELECT cardinality($1::text[]), cardinality($2::bigint[])",
                [.column(ArrayParameter(.text)), .column(ArrayParameter(.bigint))]
            )
            #expect(try rows.integer(0, 0) == 0)
            #expect(try rows.integer(0, 1) == 0)
        }
    }

    @Test("an invalid value is rejected before anything is sent, and the error does not contain it")
    func refusals() async throws {
        var nul = ArrayParameter(.text)
        nul.append("secret\u{0}")
        var wide = ArrayParameter(.smallint)
        wide.append(Int64(70_000))
        var foreign = ArrayParameter(.bigint)
        foreign.append("secret")
        var other = ArrayParameter(.boolean)
        other.append(true)
        var far = ArrayParameter(.timestamptz)
        far.append(instant: .min)
        let cases: [(ArrayParameter, Statement, String)] = [
            (nul, "SELECT $1::text[]", "holds a NUL"), (wide, "SELECT $1::smallint[]", "out of the range"),
            (foreign, "SELECT $1::bigint[]", "does not fit"), (other, "SELECT $1::text[]", "does not fit"),
            (other, "SELECT $1::text", "does not fit"), (far, "SELECT $1::timestamptz[]", "out of the range"),
        ]
        try await DatabaseFixture.withPool { pool in
            for (column, statement, reason) in cases {
                let error = try await DatabaseFixture.error { _ = try await pool.run(statement, [.column(column)]) }
                #expect(error.code == .invalidParameter)
                #expect(error.message.contains(reason))
                #expect(!error.message.contains("secret") && !error.message.contains("70000"))
            }
        }
    }

    @Test("a field's bytes can be read in place")
    func bytesInPlace() async throws {
        try await DatabaseFixture.withPool { pool in
            let rows = try await pool.run("SELECT 'été'::text, '[1]'::jsonb, NULL::text, 'x'::bytea, 7")
            func bytes(_ column: Column) throws(PostgresError) -> [UInt8]? {
                try rows.withBytes(0, column) { Array($0) }
            }
            #expect(try bytes(0) == Array("été".utf8))
            #expect(try bytes(1) == Array("[1]".utf8))
            #expect(try bytes(2) == nil)
            #expect(try bytes(3) == Array("x".utf8))
            let error = try await DatabaseFixture.error { _ = try bytes(4) }
            #expect(error.code == .unexpectedResult)
        }
    }
}
