import Postgres
import TestSupport
import Testing

@Suite(
    "Values sent to the server and read back",
    .limitedConcurrency,
    .enabled(if: DatabaseFixture.isThere, DatabaseFixture.absence)
)
struct ValueTests {
    @Test("each kind of value is read back unchanged")
    func scalars() async throws {
        try await DatabaseFixture.withPool { pool in
            let rows = try await pool.run(
                """
                SELECT $1::text AS t, $2::bigint AS i, $3::boolean AS b, $4::bytea AS y, $5::jsonb AS j,
                       $6::timestamptz AS z, $7::float8 AS d, $8::json AS plain
                """,
                [
                    .text("naïve 🛎️ 通知 \u{1F468}\u{200D}\u{1F469}"), .integer(.min), .boolean(true),
                    .bytes([0, 255, 0, 1]), .json(Array(#"{"a": [1, "é"]}"#.utf8)), .instant(1_735_689_600_123_456),
                    .double(-0.1), .json(Array(#"{"b":  2}"#.utf8)),
                ]
            )
            #expect(rows.count == 1)
            #expect(rows.columnNames == ["t", "i", "b", "y", "j", "z", "d", "plain"])
            #expect(try rows.text(0, "t") == "naïve 🛎️ 通知 \u{1F468}\u{200D}\u{1F469}")
            #expect(try rows.integer(0, "i") == .min)
            #expect(try rows.boolean(0, "b"))
            #expect(try rows.bytes(0, "y") == [0, 255, 0, 1])
            #expect(String(decoding: try rows.json(0, "j"), as: UTF8.self) == #"{"a": [1, "é"]}"#)
            #expect(try rows.text(0, "j") == #"{"a": [1, "é"]}"#)
            #expect(try rows.instant(0, "z") == 1_735_689_600_123_456)
            #expect(try rows.double(0, 6) == -0.1)
            #expect(try rows.text(0, .index(7)) == #"{"b":  2}"#)
        }
    }

    @Test("an instant is the same time at the server, before and after 1970")
    func instants() async throws {
        try await DatabaseFixture.withPool { pool in
            let rows = try await pool.run(
                "SELECT to_char($1::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US'), timestamptz 'epoch'",
                [.instant(-1_000_001)]
            )
            #expect(try rows.text(0, 0) == "1969-12-31 23:59:58.999999")
            #expect(try rows.instant(0, 1) == 0)
            let infinite = try await pool.run("SELECT timestamptz 'infinity', timestamptz '-infinity'")
            for column in [0, 1] {
                #expect(throws: PostgresError.self) { try infinite.instant(0, .index(column)) }
            }
        }
    }

    @Test("a NULL is nil for optional accessors and an error for the others")
    func nulls() async throws {
        try await DatabaseFixture.withPool { pool in
            let rows = try await pool.run(
                "SELECT $1::text, $2::bigint, $3::boolean, $4::bytea, $5::jsonb, $6::timestamptz, $7::float8",
                Array(repeating: .null, count: 7)
            )
            #expect(try rows.optionalText(0, 0) == nil)
            #expect(try rows.optionalInteger(0, 1) == nil)
            #expect(try rows.optionalBoolean(0, 2) == nil)
            #expect(try rows.optionalBytes(0, 3) == nil)
            #expect(try rows.optionalJSON(0, 4) == nil)
            #expect(try rows.optionalInstant(0, 5) == nil)
            #expect(try rows.optionalDouble(0, 6) == nil)
            let error = try await DatabaseFixture.error { _ = try rows.text(0, 0) }
            #expect(error.code == .unexpectedResult)
        }
    }

    @Test("integers fit the width that the server infers, or are rejected before they are sent")
    func widths() async throws {
        try await DatabaseFixture.withPool { pool in
            let rows = try await pool.run(
                "SELECT $1::smallint, $2::int, $3::bigint, $4::numeric, $5::float8",
                [.integer(-32768), .integer(2_147_483_647), .integer(.max), .integer(.max), .integer(3)]
            )
            #expect(try rows.integer(0, 0) == -32768)
            #expect(try rows.integer(0, 1) == 2_147_483_647)
            #expect(try rows.integer(0, 2) == .max)
            #expect(try rows.double(0, 4) == 3)
            #expect(throws: PostgresError.self) { try rows.integer(0, 3) }
            let tooWide: [(Statement, Int64)] = [("SELECT $1::smallint", 32768), ("SELECT $1::int", 2_147_483_648)]
            for (statement, value) in tooWide {
                let error = try await DatabaseFixture.error { _ = try await pool.run(statement, [.integer(value)]) }
                #expect(error.code == .invalidParameter)
                #expect(!error.message.contains(String(value)))
            }
        }
    }

    @Test("text is accepted for types without a separate encoding: enums, uuid, numeric")
    func spelledTypes() async throws {
        try await DatabaseFixture.withPool { pool in
            try await DatabaseFixture.script("CREATE TYPE mood AS ENUM ('calm', 'urgent')", on: pool)
            let rows = try await pool.run(
                "SELECT $1::mood, ($2::uuid)::text, ($3::numeric + 1)::text, ($4::varchar)::text",
                [.text("urgent"), .text("6F9619FF-8B86-D011-B42D-00CF4FC964FF"), .text("1.50"), .text("v")]
            )
            #expect(try rows.text(0, 0) == "urgent")
            #expect(try rows.text(0, 1) == "6f9619ff-8b86-d011-b42d-00cf4fc964ff")
            #expect(try rows.text(0, 2) == "2.50")
            #expect(try rows.text(0, 3) == "v")
        }
    }

    @Test("empty and large values are read back complete")
    func extremes() async throws {
        try await DatabaseFixture.withPool { pool in
            let large = String(repeating: "é", count: 3_000_000)
            let blob = [UInt8](repeating: 7, count: 5_000_000)
            let rows = try await pool.run(
                "SELECT $1::text, length($2::text), octet_length($3::bytea), $4::bytea, $2::text",
                [.text(""), .text(large), .bytes(blob), .bytes([])]
            )
            #expect(try rows.text(0, 0).isEmpty)
            #expect(try rows.integer(0, 1) == 3_000_000)
            #expect(try rows.integer(0, 2) == 5_000_000)
            #expect(try rows.bytes(0, 3).isEmpty)
            #expect(try rows.text(0, 4) == large)
            // The memory of the large value is released; the next small value still works.
            #expect(try await pool.run("SELECT $1::text", [.text("small")]).text(0, 0) == "small")
        }
    }

    @Test("a NUL in text or JSON is rejected before anything is sent, also inside an array")
    func nulRefused() async throws {
        try await DatabaseFixture.withPool(size: 0...1) { pool in
            let cases: [(Statement, Parameter)] = [
                ("SELECT $1::text", .text("secret\0word")),
                ("SELECT $1::uuid", .text("\0")),
                ("SELECT $1::jsonb", .json(Array("\"\0\"".utf8))),
                ("SELECT $1::text[]", .textArray(["fine", "secret\0word"])),
                ("SELECT $1::jsonb[]", .jsonArray([Array("\"\0\"".utf8)])),
            ]
            for (statement, parameter) in cases {
                let error = try await DatabaseFixture.error { _ = try await pool.run(statement, [parameter]) }
                #expect(error.code == .invalidParameter)
                #expect(error.message.contains("NUL") && !error.message.contains("secret"))
                #expect(!error.isTransient)
            }
            let escaped = try await DatabaseFixture.error {
                _ = try await pool.run("SELECT ($1::jsonb)->>'a'", [.text(#"{"a":"\u0000"}"#)])
            }
            #expect(escaped.sqlState == .untranslatableCharacter)
            #expect(try await pool.run("SELECT 1").integer(0, 0) == 1)
        }
    }

    @Test("a value of the wrong kind and a wrong number of values are rejected without being sent")
    func mismatches() async throws {
        try await DatabaseFixture.withPool { pool in
            let cases: [(Statement, [Parameter])] = [
                ("SELECT $1::bigint", [.boolean(true)]),
                ("SELECT $1::text", [.integer(1)]),
                ("SELECT $1::timestamptz", [.integer(1)]),
                ("SELECT $1::bigint", [.integerArray([1])]),
                ("SELECT $1::bigint[]", [.integer(1)]),
                ("SELECT $1::bigint[]", [.textArray(["1"])]),
                ("SELECT $1::uuid[]", [.textArray([])]),
                ("SELECT $1::bigint", []),
                ("SELECT 1", [.null]),
                ("SELECT $1::timestamptz", [.instant(.min)]),
            ]
            for (statement, parameters) in cases {
                let error = try await DatabaseFixture.error { _ = try await pool.run(statement, parameters) }
                #expect(error.code == .invalidParameter, "\(statement.sql)")
            }
        }
    }

    @Test("reading a missing row or column, or another type, is an error and not a crash")
    func wrongReading() async throws {
        try await DatabaseFixture.withPool { pool in
            let rows = try await pool.run("SELECT 1::bigint AS n, 'x'::text AS t, interval '1 s' AS i")
            let readings: [() throws -> Void] = [
                { _ = try rows.integer(1, 0) }, { _ = try rows.integer(-1, 0) }, { _ = try rows.integer(.max, 0) },
                { _ = try rows.integer(0, 3) }, { _ = try rows.integer(0, .index(-1)) },
                { _ = try rows.integer(0, "absent") },
                { _ = try rows.text(0, "n") }, { _ = try rows.integer(0, "t") }, { _ = try rows.boolean(0, "n") },
                { _ = try rows.bytes(0, "t") }, { _ = try rows.json(0, "n") }, { _ = try rows.instant(0, "n") },
                { _ = try rows.text(0, "i") }, { _ = try rows.double(0, "n") },
            ]
            for reading in readings {
                let error = try await DatabaseFixture.error { try reading() }
                #expect(error.code == .unexpectedResult)
            }
            #expect(try rows.integer(0, .index(rows.index(of: "n"))) == 1)
        }
    }
}
