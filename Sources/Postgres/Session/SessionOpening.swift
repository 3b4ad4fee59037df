import CPostgreSQL
import Glibc

/// The settings for opening a session.
struct SessionOptions: Sendable {
    var url: DatabaseURL
    var applicationName: String
    var setUp: [String]
    var connectTimeout: Duration
    var statementTimeout: Duration
    var notice: @Sendable (ServerNotice) -> Void
    /// Whether the session reads the database's history.
    ///
    /// A session that only listens does not need it.
    var learnsHistory = true

    /// The parameters for libpq, in this order.
    ///
    /// Later ones win, so that the URL overrides the defaults, and nothing overrides the encoding that all texts here
    /// require.
    fileprivate var words: [(keyword: String, value: String)] {
        let defaults = [
            ("fallback_application_name", applicationName),
            // A peer that vanished is detected within a minute, even while nothing is being sent.
            ("keepalives_idle", "30"),
            ("keepalives_interval", "10"),
            ("keepalives_count", "3"),
            ("tcp_user_timeout", String(statementTimeout.pollMilliseconds)),
        ]
        return defaults + url.settings.map { ($0.keyword, $0.value) } + [("client_encoding", "UTF8")]
    }
}

extension PostgresSession {
    /// Opens a connection and runs the set-up statements.
    ///
    /// Blocks the calling thread for at most `connectTimeout` per address, plus the time of the name resolution.
    static func open(_ recipe: SessionOptions) throws(PostgresError) -> PostgresSession {
        let notices = NoticeReceiver(recipe.notice)
        guard let handle = start(recipe.words) else {
            throw PostgresError(.cannotConnect, "Connecting to PostgreSQL failed: libpq is out of memory.")
        }
        // Set before the server's first message, which may be a warning that libpq would print.
        PQsetNoticeReceiver(
            handle,
            { context, result in
                guard let context, let result else { return }
                let receiver = Unmanaged<NoticeReceiver>.fromOpaque(context).takeUnretainedValue()
                receiver.receive(ServerReport(result))
            },
            Unmanaged.passUnretained(notices).toOpaque()
        )
        // Verbose messages contain the SQLSTATE, which libpq does not provide otherwise if a connection is rejected.
        PQsetErrorVerbosity(handle, PQERRORS_VERBOSE)
        if let refusal = establish(handle, recipe.connectTimeout) {
            PQfinish(handle)
            throw refusal
        }
        PQsetErrorVerbosity(handle, PQERRORS_DEFAULT)
        let session = try PostgresSession(handle: handle, notices: notices)
        try session.setUp(recipe)
        return session
    }

    private func setUp(_ recipe: SessionOptions) throws(PostgresError) {
        for (index, text) in recipe.setUp.enumerated() {
            let attempt = SessionOperation.command("Set-up statement \(index + 1) of a new connection")
            do {
                let deadline = Deadline(recipe.statementTimeout, CancellationHandle())
                let (answer, spent) = try exchange(attempt, .nothing, deadline) { (deadline) throws(ConnectionLoss) in
                    guard send(text) else { throw complaint() }
                    return try collect(attempt, &deadline)
                }
                _ = try rows(of: answer, attempt, spent)
            } catch {
                throw PostgresError(.cannotConnect, error.message, sqlState: error.sqlState)
            }
        }
        if recipe.learnsHistory { try learnHistory(recipe) }
    }

    /// Reads the database's history.
    ///
    /// If the server rejects the query, the session keeps a history that equals no other, which is safe but slower.
    private func learnHistory(_ recipe: SessionOptions) throws(PostgresError) {
        do {
            let deadline = Deadline(recipe.statementTimeout, CancellationHandle())
            history = DatabaseHistory(try command(DatabaseHistory.query, .nothing, deadline).text(0, 0))
        } catch {
            if case .server(let state) = error.code, !state.isTransient { return }
            throw PostgresError(.cannotConnect, error.message, sqlState: error.sqlState)
        }
    }

    private static func start(_ words: [(keyword: String, value: String)]) -> OpaquePointer? {
        var keywords: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0.keyword) }
        var values: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0.value) }
        defer { (keywords + values).forEach { free($0) } }
        keywords.append(nil)
        values.append(nil)
        return PQconnectStartParams(keywords.map { UnsafePointer($0) }, values.map { UnsafePointer($0) }, 0)
    }

    /// Runs libpq until it is connected; returns the error if it fails.
    private static func establish(_ handle: OpaquePointer, _ limit: Duration) -> PostgresError? {
        var step = PGRES_POLLING_WRITING
        var hasTimedOut = false
        var deadline = ContinuousClock.now + limit
        guard PQstatus(handle) != CONNECTION_BAD else { return refusal(handle, hasTimedOut, limit) }
        while step == PGRES_POLLING_READING || step == PGRES_POLLING_WRITING {
            let socket = PQsocket(handle)
            if !isReady(socket, for: step, until: deadline) {
                // With its socket shut down, libpq gives up this address and tries the next one, or fails.
                hasTimedOut = true
                shutdown(socket, Int32(SHUT_RDWR))
                deadline = .now + limit
            }
            step = PQconnectPoll(handle)
        }
        return step == PGRES_POLLING_OK ? nil : refusal(handle, hasTimedOut, limit)
    }

    private static func isReady(
        _ socket: Int32,
        for step: PostgresPollingStatusType,
        until deadline: ContinuousClock.Instant
    ) -> Bool {
        let events = step == PGRES_POLLING_READING ? POLLIN : POLLOUT
        var watched = pollfd(fd: socket, events: Int16(truncatingIfNeeded: events), revents: 0)
        while true {
            let left = deadline - .now
            guard left > .zero else { return false }
            let ready = poll(&watched, 1, left.pollMilliseconds)
            if ready > 0 || (ready < 0 && errno != EINTR) { return true }
        }
    }

    private static func refusal(_ handle: OpaquePointer, _ hasTimedOut: Bool, _ limit: Duration) -> PostgresError {
        let lines = String(cString: PQerrorMessage(handle)).split(whereSeparator: \.isNewline)
            .map { $0.drop(while: \.isWhitespace) }
            .filter { line in !["LOCATION:", "DETAIL:", "HINT:"].contains { line.hasPrefix($0) } }
        let states = lines.flatMap { $0.split(separator: " ") }
            // Every code has a digit, which distinguishes it from the severity (`FATAL:  3D000: …`).
            .filter { $0.hasSuffix(":") && $0.contains(where: \.isNumber) }
            .compactMap { SQLState(String($0.dropLast())) }
        let silence = hasTimedOut ? " (no answer within \(limit.pollMilliseconds) ms)" : ""
        return PostgresError(
            .cannotConnect,
            "Connecting to PostgreSQL failed\(silence): "
                + ClientText.plain(lines.joined(separator: "; "), hasTimedOut: hasTimedOut),
            sqlState: states.last
        )
    }
}

/// A message of the server that is not an error: a WARNING, or the NOTICE of a migration.
package struct ServerNotice: Sendable, Hashable {
    /// `WARNING`, `NOTICE` and so on, in English for any language of the server.
    package let severity: String
    package let sqlState: SQLState?
    package let message: String
}

/// Receives messages that libpq would otherwise print on standard error.
///
/// Confined to its session's thread.
final class NoticeReceiver {
    private let report: @Sendable (ServerNotice) -> Void
    /// Whether the server announced the end of the session while it was idle.
    private(set) var hasSeenEnd = false

    init(_ report: @escaping @Sendable (ServerNotice) -> Void) { self.report = report }

    func receive(_ notice: ServerReport) {
        if notice.isFatal { hasSeenEnd = true }
        report(ServerNotice(severity: notice.severity, sqlState: notice.sqlState, message: notice.message))
    }
}
