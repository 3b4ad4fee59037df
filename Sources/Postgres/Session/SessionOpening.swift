import CPostgreSQL
import Glibc

/// How a session is opened: everything a fresh connection needs.
struct SessionRecipe: Sendable {
    var url: DatabaseURL
    var applicationName: String
    var setUp: [String]
    var connectTimeout: Duration
    var statementTimeout: Duration
    var notice: @Sendable (ServerNotice) -> Void
    /// A session that only listens needs none.
    var learnsHistory = true

    /// What goes to libpq, in this order: later words win, so that the URL overrides what stands before it, and
    /// nothing overrides the encoding, on which every text here relies.
    fileprivate var words: [(keyword: String, value: String)] {
        let defaults = [
            ("fallback_application_name", applicationName),
            // A peer that vanished without a word is noticed within a minute also where nothing is being sent.
            ("keepalives_idle", "30"),
            ("keepalives_interval", "10"),
            ("keepalives_count", "3"),
            ("tcp_user_timeout", String(statementTimeout.pollMilliseconds)),
        ]
        return defaults + url.settings.map { ($0.keyword, $0.value) } + [("client_encoding", "UTF8")]
    }
}

extension Session {
    /// Opens a connection and runs the set-up statements.
    ///
    /// Blocks the calling thread: at most `connectTimeout` for each address, and as long as the resolver takes.
    static func open(_ recipe: SessionRecipe) throws(PostgresError) -> Session {
        let notices = NoticeReceiver(recipe.notice)
        guard let handle = start(recipe.words) else {
            throw PostgresError(.cannotConnect, "Connecting to PostgreSQL failed: libpq is out of memory.")
        }
        // Before the first word of the server, which may be a warning; libpq would print it.
        PQsetNoticeReceiver(
            handle,
            { context, result in
                guard let context, let result else { return }
                let receiver = Unmanaged<NoticeReceiver>.fromOpaque(context).takeUnretainedValue()
                receiver.receive(ServerReport(result))
            },
            Unmanaged.passUnretained(notices).toOpaque()
        )
        // Verbose messages carry the SQLSTATE, which libpq has no other way to tell about a refused connection.
        PQsetErrorVerbosity(handle, PQERRORS_VERBOSE)
        if let refusal = establish(handle, recipe.connectTimeout) {
            PQfinish(handle)
            throw refusal
        }
        PQsetErrorVerbosity(handle, PQERRORS_DEFAULT)
        let session = try Session(handle: handle, notices: notices)
        try session.setUp(recipe)
        return session
    }

    private func setUp(_ recipe: SessionRecipe) throws(PostgresError) {
        for (index, text) in recipe.setUp.enumerated() {
            let attempt = Attempt.command("Set-up statement \(index + 1) of a new connection")
            do {
                let patience = Patience(recipe.statementTimeout, Interruption())
                let (answer, spent) = try exchange(attempt, .nothing, patience) { (patience) throws(Loss) in
                    guard send(text) else { throw complaint() }
                    return try collect(attempt, &patience)
                }
                _ = try rows(of: answer, attempt, spent)
            } catch {
                throw PostgresError(.cannotConnect, error.message, sqlState: error.sqlState)
            }
        }
        if recipe.learnsHistory { try learnHistory(recipe) }
    }

    /// A server that refuses to answer leaves the session with a history that equals no other, which is safe and slower.
    private func learnHistory(_ recipe: SessionRecipe) throws(PostgresError) {
        do {
            let patience = Patience(recipe.statementTimeout, Interruption())
            history = DatabaseHistory(try command(DatabaseHistory.query, .nothing, patience).text(0, 0))
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

    /// Drives libpq until it is connected; returns why it is not.
    private static func establish(_ handle: OpaquePointer, _ limit: Duration) -> PostgresError? {
        var step = PGRES_POLLING_WRITING
        var hasTimedOut = false
        var deadline = ContinuousClock.now + limit
        guard PQstatus(handle) != CONNECTION_BAD else { return refusal(handle, hasTimedOut, limit) }
        while step == PGRES_POLLING_READING || step == PGRES_POLLING_WRITING {
            let socket = PQsocket(handle)
            if !isReady(socket, for: step, until: deadline) {
                // With its socket shut, libpq gives this address up and goes to the next one, or fails.
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
            // Every code has a digit, which tells it from the severity (`FATAL:  3D000: …`).
            .filter { $0.hasSuffix(":") && $0.contains(where: \.isNumber) }
            .compactMap { SQLState(String($0.dropLast())) }
        let silence = hasTimedOut ? " (no answer within \(limit.pollMilliseconds) ms)" : ""
        return PostgresError(
            .cannotConnect,
            "Connecting to PostgreSQL failed\(silence): \(lines.joined(separator: "; "))",
            sqlState: states.last
        )
    }
}
