import Synchronization
import TestSupport
import Testing

@testable import Postgres

/// Shared helpers of the tests against a real server: a pool on a separate schema, which is removed at the end.
enum DatabaseFixture {
    static let isThere = Servers.databaseURL != nil
    static let absence: Comment = "BELLHOP_DATABASE_URL is not set: nothing here is tested against a real PostgreSQL."

    static func url() throws -> DatabaseURL {
        try DatabaseURL(try #require(Servers.databaseURL))
    }

    /// Returns the test's settings, including the password, with some of libpq's keywords changed.
    static func url(with changes: [String: String]) throws -> DatabaseURL {
        let given = try url().settings.map { ($0.keyword, $0.value) }
        let settings = Dictionary(given, uniquingKeysWith: { $1 }).merging(changes) { $1 }
        return try DatabaseURL(settings.map { "\($0)='\(escaped($1))'" }.joined(separator: " "))
    }

    /// The manual: "single quotes and backslashes within a value must be escaped with a backslash".
    private static func escaped(_ value: String) -> String {
        String(value.flatMap { "'\\".contains($0) ? ["\\", $0] : [$0] })
    }

    /// Returns the test's URL with its host replaced by the proxy's.
    static func url(through proxy: TCPProxy) throws -> DatabaseURL {
        try DatabaseURL(proxy.url(replacingHostOf: try #require(Servers.databaseURL)))
    }

    /// Returns a proxy for the test's server.
    static func proxy() throws -> TCPProxy {
        let url = try url()
        let port = url["port"].flatMap { Int($0) } ?? 5432
        return try TCPProxy(to: url["host"] ?? "127.0.0.1", port)
    }

    /// Runs the test with a pool whose `search_path` is a new schema.
    static func withPool(
        size: ClosedRange<Int> = 0...4,
        through proxy: TCPProxy? = nil,
        adjusting adjust: (inout PoolOptions) -> Void = { _ in },
        _ body: (PostgresPool) async throws -> Void
    ) async throws {
        let schema = Servers.uniqueName("room")
        let keeper = PostgresPool(PoolOptions(url: try url()))
        try await script("CREATE SCHEMA \(schema)", on: keeper)
        var options = PoolOptions(url: try proxy.map { try url(through: $0) } ?? url())
        options.size = size
        options.setUp = ["SET search_path TO \(schema)"]
        // A test that makes callers wait on purpose must not lose the first one before the last one arrives.
        options.acquireTimeout = LongestWait.duration
        adjust(&options)
        let pool = PostgresPool(options)
        var failure: (any Error)?
        do { try await body(pool) } catch { failure = error }
        await pool.close()
        try await script("DROP SCHEMA \(schema) CASCADE", on: keeper)
        await keeper.close()
        if let failure { throw failure }
    }

    static func script(_ text: String, on pool: PostgresPool) async throws {
        try await pool.withConnection { (connection) throws(PostgresError) in try connection.execute(text) }
    }

    /// Returns the error that the body throws; the test fails if it throws none.
    static func error(of body: () async throws -> Void) async throws -> PostgresError {
        var caught: PostgresError?
        do {
            try await body()
        } catch let error as PostgresError {
            caught = error
        }
        return try #require(caught, "an error was expected")
    }
}

/// The records of several threads of a test, in order.
final class Journal<Entry: Sendable>: Sendable {
    private let lines = Mutex<[Entry]>([])

    var entries: [Entry] { lines.withLock { $0 } }

    func add(_ entry: Entry) {
        lines.withLock { $0.append(entry) }
    }
}

/// Codes that only tests cause.
extension SQLState {
    static let invalidText = SQLState(known: "22P02")
    static let untranslatableCharacter = SQLState(known: "22P05")
    static let uniqueViolation = SQLState(known: "23505")
    static let passwordRefused = SQLState(known: "28P01")
    static let databaseUnknown = SQLState(known: "3D000")
    static let syntaxError = SQLState(known: "42601")
}
