import CPostgreSQL
import Glibc
import ServiceRuntime

/// One connection of libpq with its prepared statements.
///
/// Confined to the one thread that opened it. libpq always runs in non-blocking mode: the session sends and receives at
/// the same time, and every wait has a limit, whereas libpq alone would wait for a silent peer indefinitely.
final class PostgresSession {
    let handle: OpaquePointer
    let canceller: Canceller
    private let notices: NoticeReceiver
    /// The reason for which this session can no longer be used.
    private(set) var failure: PostgresError?
    /// The database's history, which is unknown until the session is set up.
    var history = DatabaseHistory.unknown()
    var plans = Plans()
    var parameters = EncodedParameters()

    /// Takes ownership of an established connection.
    init(handle: OpaquePointer, notices: NoticeReceiver) throws(PostgresError) {
        self.handle = handle
        self.notices = notices
        guard PQsetnonblocking(handle, 1) == 0, let canceller = Canceller(session: handle) else {
            PQfinish(handle)
            throw PostgresError(.cannotConnect, "Connecting to PostgreSQL failed: libpq is out of memory.")
        }
        self.canceller = canceller
    }

    deinit { PQfinish(handle) }

    enum TransactionStatus {
        case none
        case open
        case failed
        /// A command is in flight or the connection is lost.
        case unclear
    }

    var transactionStatus: TransactionStatus {
        switch PQtransactionStatus(handle) {
        case PQTRANS_IDLE: .none
        case PQTRANS_INTRANS: .open
        case PQTRANS_INERROR: .failed
        default: .unclear
        }
    }

    /// Marks the session as unusable; the first reason is kept.
    func retire(because reason: PostgresError) { failure = failure ?? reason }

    /// Whether an idle session still has a server, as checked without a round trip.
    ///
    /// A server that ended has sent a message or closed its end of the connection.
    ///
    /// Other input that has arrived is read as well.
    func isUsable() -> Bool {
        guard failure == nil, transactionStatus == .none else { return false }
        while isReadable() {
            guard PQconsumeInput(handle) == 1, PQisBusy(handle) == 0 else { return false }
            while let notification = PQnotifies(handle) { PQfreemem(notification) }
            if notices.hasSeenEnd { return false }
        }
        return !notices.hasSeenEnd && PQstatus(handle) == CONNECTION_OK
    }

    var socket: Int32 { PQsocket(handle) }

    /// Returns the notifications that have arrived so far, without waiting.
    func takeNotifications() throws(PostgresError) -> [(channel: String, payload: String)] {
        guard PQconsumeInput(handle) == 1, PQisBusy(handle) == 0, !notices.hasSeenEnd else {
            let error = complaint().error(.command("Listening"), .nothing)
            retire(because: error)
            throw error
        }
        var heard: [(channel: String, payload: String)] = []
        while let notification = PQnotifies(handle) {
            let (channel, payload) = (notification.pointee.relname, notification.pointee.extra)
            heard.append((channel.map { String(cString: $0) } ?? "", payload.map { String(cString: $0) } ?? ""))
            PQfreemem(notification)
        }
        return heard
    }

    private func isReadable() -> Bool {
        var watched = pollfd(fd: PQsocket(handle), events: Int16(POLLIN), revents: 0)
        return poll(&watched, 1, 0) > 0
    }
}

/// Exchanges with the server.
extension PostgresSession {
    /// Runs one exchange and converts its end into an answer or an error.
    ///
    /// After a loss, the session is unusable.
    func exchange<Reply>(
        _ attempt: SessionOperation,
        _ effect: ConnectionLoss.PossibleEffect,
        _ deadline: Deadline,
        _ talk: (inout Deadline) throws(ConnectionLoss) -> Reply
    ) throws(PostgresError) -> (reply: Reply, deadline: Deadline) {
        if let failure { throw failure }
        var deadline = deadline
        do {
            let reply = try talk(&deadline)
            settle(deadline)
            return (reply, deadline)
        } catch {
            let report = error.error(attempt, effect)
            retire(because: report)
            throw report
        }
    }

    /// Returns the rows of an answer, or throws the error with which it ended.
    func rows(of answer: ServerAnswer, _ attempt: SessionOperation, _ deadline: Deadline) throws(PostgresError) -> Rows
    {
        if let failure = answer.failure { throw explained(failure, attempt, deadline) }
        guard let rows = answer.rows else {
            throw PostgresError(.unexpectedResult, "\(attempt): the server sent no answer.")
        }
        return rows
    }

    /// Distinguishes the client's cancellation from the server's, and retires a session whose server can no longer
    /// write.
    private func explained(_ failure: PostgresError, _ attempt: SessionOperation, _ deadline: Deadline) -> PostgresError
    {
        // After a failover, the old primary runs as a read-only standby. A new connection reaches the server that
        // accepts writes.
        if failure.sqlState == .readOnlyTransaction { retire(because: failure) }
        guard failure.sqlState == .queryCancelled else { return failure }
        switch deadline.whyCancelled {
        case .cancelled:
            let text = "\(attempt) was cancelled."
            return PostgresError(.cancelled, text, outcome: PostgresError.noEffect, sqlState: .queryCancelled)
        case .timedOut(let limit):
            let text = "\(attempt) took longer than \(limit.shortText) and was cancelled."
            return PostgresError(.timedOut, text, outcome: PostgresError.noEffect, sqlState: .queryCancelled)
        case .silent(let span):
            return PostgresError.silent(span, "\(attempt): ", PostgresError.noEffect, sqlState: .queryCancelled)
        case nil:
            return failure
        }
    }

    /// Reads all results until the server is ready again.
    func collect(_ attempt: SessionOperation, _ deadline: inout Deadline) throws(ConnectionLoss) -> ServerAnswer {
        var answer = ServerAnswer(in: history)
        while let result = try receive(&deadline) {
            try answer.take(result, of: attempt)
        }
        return answer
    }

    /// The server's address, as `127.0.0.1:5432`; a socket is named by its folder.
    private var address: String {
        func text(_ value: UnsafeMutablePointer<CChar>?) -> String { value.map { String(cString: $0) } ?? "" }
        return ClientText.address(host: text(PQhost(handle)), port: text(PQport(handle)))
    }

    /// Returns libpq's most recent error, without its guesses.
    func complaint() -> ConnectionLoss {
        let text = ServerReport.flattened(String(cString: PQerrorMessage(handle)))
        return ConnectionLoss(ClientText.loss(text, of: address))
    }

    /// Returns the next result; `nil` at the end of a statement's answer.
    func receive(_ deadline: inout Deadline) throws(ConnectionLoss) -> OpaquePointer? {
        while true {
            let isUnsent = PQflush(handle) == 1
            if PQisBusy(handle) == 0 { return PQgetResult(handle) }
            switch deadline.next(now: .now, canceller: canceller) {
            case .giveUp(let reason):
                throw ConnectionLoss("the server did not answer", reason: reason)
            case .wait(let limit):
                let isReadable = wait(forWriting: isUnsent, limit)
                guard isReadable, PQconsumeInput(handle) == 0, PQisBusy(handle) == 1 else { continue }
                throw complaint()
            }
        }
    }

    /// Waits until the socket has input; an interrupted wait counts as no input.
    private func wait(forWriting isUnsent: Bool, _ limit: Duration) -> Bool {
        let events = isUnsent ? POLLIN | POLLOUT : POLLIN
        var watched = pollfd(fd: PQsocket(handle), events: Int16(truncatingIfNeeded: events), revents: 0)
        guard poll(&watched, 1, limit.pollMilliseconds) > 0 else { return false }
        return Int32(watched.revents) & ~POLLOUT != 0
    }

    /// Waits for a cancel request that the time limit caused, which must be complete before the next statement.
    private func settle(_ deadline: Deadline) {
        guard let request = deadline.request, !request.wait(atMost: Deadline.grace) else { return }
        retire(because: PostgresError(.connectionLost, "A cancel request to the server did not come through in time."))
    }
}
