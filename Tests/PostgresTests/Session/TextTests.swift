import Testing

@testable import Postgres

/// Printed texts: URLs without passwords, errors without values.
@Suite("Printed texts")
struct TextTests {
    @Test("a URL is read as libpq reads it, and no printed form contains the password")
    func masking() throws {
        let url = try DatabaseURL("postgres://bell%20hop:s3cret%2F@db1,db2:6432/app?target_session_attrs=read-write")
        #expect(url["user"] == "bell hop")
        #expect(url["host"] == "db1,db2")
        #expect(url["password"] == "s3cret/")
        var dumped = ""
        dump(url, to: &dumped)
        for text in ["\(url)", String(reflecting: url), "\(Optional(url) as Any)", "\([url])", dumped] {
            #expect(!text.contains("s3cret"), "\(text)")
            #expect(text.contains("password=(hidden)"), "\(text)")
        }
    }

    @Test("keyword=value pairs are accepted as a URL")
    func pairs() throws {
        let url = try DatabaseURL("host=/run/postgresql dbname='my db' sslmode=disable")
        #expect(url["dbname"] == "my db")
        #expect(url["port"] == nil)
    }

    @Test(
        "a text that libpq cannot read is rejected without repeating it",
        arguments: [
            "", "postgres://u:s3cret@h:1/db?nonsense=s3cret", "postgresx://u:s3cret@h/db", "host=h passwort=s3cret",
            "postgres://u:s3cret%ZZ@h/db", "postgres://u:s3cret@[::1/db", "host='s3cret",
        ]
    )
    func refusedURLs(_ text: String) async throws {
        let error = try await DatabaseFixture.error { _ = try DatabaseURL(text) }
        #expect(error.code == .invalidParameter)
        #expect(!error.isTransient)
        #expect(!error.message.contains("s3cret"), "\(error.message)")
    }

    @Test("a NUL is rejected, because it would end the text for libpq")
    func nulInURL() {
        #expect(throws: PostgresError.self) { _ = try DatabaseURL("host=h\0 password=s3cret") }
    }

    @Test("text between quotation marks is withheld, from the first mark to the last")
    func withholding() {
        #expect(
            ServerReport.withholdingQuotes(#"invalid input syntax for type integer: "a"b""#)
                == "invalid input syntax for type integer: (withheld)"
        )
        #expect(ServerReport.withholdingQuotes("ungültige Eingabe: »geheim«") == "ungültige Eingabe: (withheld)")
        #expect(ServerReport.withholdingQuotes("integer out of range") == "integer out of range")
    }

    @Test("a SQLSTATE has five digits or capitals, and a switch matches its class")
    func states() {
        #expect(SQLState("23505") == .uniqueViolation)
        for text in ["", "2350", "235050", "2350a", "235 5", "ééééé"] { #expect(SQLState(text) == nil) }
        switch SQLState.uniqueViolation {
        case SQLState.Category.integrityConstraint: break
        default: Issue.record("23505 is of class 23")
        }
        #expect(SQLState.deadlock.category == SQLState.serializationFailure.category)
    }

    @Test(
        "an error that may disappear later is transient",
        arguments: [
            ("40001", true), ("40P01", true), ("55P03", true), ("57P01", true), ("57P05", true), ("53100", true),
            ("53300", true), ("08006", true), ("25006", true), ("57014", true), ("23505", false), ("42601", false),
            ("22P02", false), ("25P02", false), ("0A000", false),
        ]
    )
    func transience(_ code: String, _ expected: Bool) throws {
        let state = try #require(SQLState(code))
        #expect(PostgresError(.server(state), "", sqlState: state).isTransient == expected)
    }

    @Test("an unreachable server is transient, and an unknown password is not")
    func connecting() {
        #expect(PostgresError(.cannotConnect, "").isTransient)
        #expect(!PostgresError(.cannotConnect, "", sqlState: .passwordRefused).isTransient)
    }

    @Test("statements are distinguished by their text and summarised in one line")
    func statements() {
        #expect(Statement("SELECT 1") == "SELECT 1")
        #expect(Statement("SELECT 1") != "SELECT 2")
        #expect(Set<Statement>(["SELECT 1", "SELECT 1", "SELECT 2"]).count == 2)
        #expect(Statement("SELECT\n    1").summary == "SELECT 1")
        #expect(Statement("SELECT \(String(repeating: "x", count: 500))").summary.count == 61)
        #expect(Statement("  commit").commits && Statement("END").commits)
        #expect(!Statement("SELECT 'commit'").commits)
    }

    @Test("an error in a script gives its line, but not the script")
    func scriptLines() {
        let attempt = SessionOperation.script("SELECT 1;\nSELECT 2;\nCREATE ROLE x PASSWORD 's3cret'")
        #expect(attempt.located(at: 11) == "Running a script (line 2)")
        #expect(attempt.located(at: 1) == "Running a script (line 1)")
        #expect(attempt.located(at: 9_999) == "Running a script (line 3)")
        #expect(attempt.located(at: nil) == "Running a script")
    }

    @Test("a time that the server's clock cannot represent is rejected")
    func clock() {
        #expect(PostgresEpoch.microseconds(since1970: 946_684_800_000_000) == 0)
        #expect(PostgresEpoch.since1970(0) == 946_684_800_000_000)
        #expect(PostgresEpoch.microseconds(since1970: .min) == nil)
        #expect(PostgresEpoch.since1970(.max) == nil)
        #expect(PostgresEpoch.since1970(.min) == nil)
    }
}
