import Postgres
import TestSupport
import Testing

@Suite(
    "Batches as array parameters",
    .limitedConcurrency,
    .enabled(if: DatabaseFixture.isThere, DatabaseFixture.absence)
)
struct ArrayTests {
    @Test("every kind of array is read back element by element, including NULLs")
    func roundTrip() async throws {
        try await DatabaseFixture.withPool { pool in
            let rows = try await pool.run(
                """
                SELECT * FROM unnest($1::text[], $2::bigint[], $3::boolean[], $4::bytea[], $5::jsonb[],
                                     $6::timestamptz[], $7::float8[], $8::int[], $9::smallint[])
                WITH ORDINALITY AS r(t, i, b, y, j, z, d, i4, i2, n) ORDER BY n
                """,
                [
                    .textArray(["é", nil, ""]), .integerArray([.max, nil, -1]), .booleanArray([true, nil, false]),
                    .bytesArray([[0], nil, []]), .jsonArray([Array("[1]".utf8), nil, Array("null".utf8)]),
                    .instantArray([0, nil, 1]), .doubleArray([0.5, nil, -2]), .integerArray([1, nil, 3]),
                    .integerArray([-1, nil, -3]),
                ]
            )
            #expect(rows.count == 3)
            #expect(try (0..<3).map { try rows.optionalText($0, "t") } == ["é", nil, ""])
            #expect(try (0..<3).map { try rows.optionalInteger($0, "i") } == [.max, nil, -1])
            #expect(try (0..<3).map { try rows.optionalBoolean($0, "b") } == [true, nil, false])
            #expect(try (0..<3).map { try rows.optionalBytes($0, "y") } == [[0], nil, []])
            #expect(try (0..<3).map { try rows.optionalText($0, "j") } == ["[1]", nil, "null"])
            #expect(try (0..<3).map { try rows.optionalInstant($0, "z") } == [0, nil, 1])
            #expect(try (0..<3).map { try rows.optionalDouble($0, "d") } == [0.5, nil, -2])
            #expect(try (0..<3).map { try rows.optionalInteger($0, "i4") } == [1, nil, 3])
            #expect(try (0..<3).map { try rows.optionalInteger($0, "i2") } == [-1, nil, -3])
        }
    }

    @Test("an empty array is an empty array, not NULL")
    func empty() async throws {
        try await DatabaseFixture.withPool { pool in
            let rows = try await pool.run(
                """
                SELECT cardinality($1::text[]), cardinality($2::jsonb[]), $3::bigint[] IS NULL, count(*)::int
                FROM unnest($4::boolean[])
                """,
                [.textArray([]), .jsonArray([]), .null, .booleanArray([])]
            )
            #expect(try rows.integer(0, 0) == 0)
            #expect(try rows.integer(0, 1) == 0)
            #expect(try rows.boolean(0, 2))
            #expect(try rows.integer(0, 3) == 0)
        }
    }

    @Test("one statement inserts a thousand rows, which are read back in order")
    func batch() async throws {
        try await DatabaseFixture.withPool { pool in
            try await DatabaseFixture.script("CREATE TABLE items (id text PRIMARY KEY, n bigint, doc jsonb)", on: pool)
            let ids = (0..<1024).map { "item-\($0)-ü" }
            let inserted = try await pool.run(
                "INSERT INTO items SELECT * FROM unnest($1::text[], $2::bigint[], $3::jsonb[])",
                [
                    .textArray(ids), .integerArray((0..<1024).map(Int64.init)),
                    .textArray((0..<1024).map { #"{"n": \#($0)}"# }),
                ]
            )
            #expect(inserted.affectedCount == 1024)
            #expect(inserted.isEmpty)
            let rows = try await pool.run("SELECT id, n, doc FROM items ORDER BY n")
            #expect(try rows.indices.map { try rows.text($0, 0) } == ids)
            #expect(try rows.integer(1023, 1) == 1023)
            #expect(try rows.text(1023, 2) == #"{"n": 1023}"#)
        }
    }

    @Test("the error for an unsuitable element names the parameter and not the value")
    func elementOutOfRange() async throws {
        try await DatabaseFixture.withPool { pool in
            let error = try await DatabaseFixture.error {
                _ = try await pool.run("SELECT $1::text, $2::int[]", [.text(""), .integerArray([1, 5_000_000_000])])
            }
            #expect(error.code == .invalidParameter)
            #expect(error.message.contains("$2") && error.message.contains("integer[]"))
            #expect(!error.message.contains("5000000000"))
        }
    }
}
