import CPostgreSQL
import Glibc
import ServiceRuntime

/// One connection of libpq with what it has prepared.
///
/// Confined to the one thread that opened it.
///
/// libpq runs in non-blocking mode throughout: sending and receiving go on at the same time, and every wait has an
/// end, where libpq alone would wait for a silent peer for ever.
final class Session {
    let handle: OpaquePointer
    let canceller: Canceller
    private let notices: NoticeReceiver
    /// Why this session is of no more use.
    private(set) var failure: PostgresError?
    /// Unknown until the session is set up.
    var history = DatabaseHistory.unknown()
    var plans = Plans()
    var parameters = EncodedParameters()

    /// Takes over an established connection.
    init(handle: OpaquePointer, notices: NoticeReceiver) throws(PostgresError) {
        self.handle = handle
        self.notices = notices
        guard PQsetnonblocking(handle, 1) == 0, let canceller = Canceller(session: handle) else {
            PQfinish(handle)
            throw PostgresError(.cannotConnect, "Connecting to PostgreSQL failed: libpq is out of memory.")
        }
        self.canceller = canceller
    }

    deinit {
        PQfinish(handle)
    }

    enum TransactionStatus {
        case none
        case open
        case failed
        /// A command is under way or the connection is gone.
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

    /// Marks the session as of no more use; the first reason stays.
    func retire(because reason: PostgresError) {
        failure = failure ?? reason
    }

    /// Looks whether an idle session still has a server at its other end, without a round trip: a server that has ended
    /// has said so, or its end of the connection is closed.
    ///
    /// Reads what else came in meanwhile.
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

    /// What `NOTIFY` has sent so far, without waiting.
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

/// Talking with the server.
extension Session {
    /// Runs one exchange and turns its end, good or bad, into an answer or an error; after a loss the session is of no
    /// more use.
    func exchange<Reply>(
        _ attempt: Attempt,
        _ stake: Loss.Stake,
        _ patience: Patience,
        _ talk: (inout Patience) throws(Loss) -> Reply
    ) throws(PostgresError) -> (reply: Reply, patience: Patience) {
        if let failure { throw failure }
        var patience = patience
        do {
            let reply = try talk(&patience)
            settle(patience)
            return (reply, patience)
        } catch {
            let report = error.error(attempt, stake)
            retire(because: report)
            throw report
        }
    }

    /// The rows of an answer, or the error it ended with.
    func rows(of answer: Answer, _ attempt: Attempt, _ patience: Patience) throws(PostgresError) -> Rows {
        if let failure = answer.failure { throw explained(failure, attempt, patience) }
        guard let rows = answer.rows else {
            throw PostgresError(.unexpectedResult, "\(attempt): the server sent no answer.")
        }
        return rows
    }

    /// Tells a cancellation by us from one by the server, and retires a session whose server can no longer write.
    private func explained(_ failure: PostgresError, _ attempt: Attempt, _ patience: Patience) -> PostgresError {
        // After a failover the old primary goes on as a read-only standby: connect anew, to where writes are taken.
        if failure.sqlState == .readOnlyTransaction { retire(because: failure) }
        guard failure.sqlState == .queryCancelled else { return failure }
        switch patience.whyCancelled {
        case .cancelled:
            return PostgresError(.cancelled, "\(attempt) was cancelled; it did not happen.", sqlState: .queryCancelled)
        case .timedOut(let limit):
            let text = "\(attempt) took longer than \(limit.shortText) and was cancelled; it did not happen."
            return PostgresError(.timedOut, text, sqlState: .queryCancelled)
        case .silent(let span):
            return PostgresError.silent(span, "\(attempt): ", "It did not happen.", sqlState: .queryCancelled)
        case nil:
            return failure
        }
    }

    /// Reads everything up to where the server is ready again.
    func collect(_ attempt: Attempt, _ patience: inout Patience) throws(Loss) -> Answer {
        var answer = Answer(in: history)
        while let result = try receive(&patience) {
            try answer.take(result, of: attempt)
        }
        return answer
    }

    /// What libpq last complained about.
    func complaint() -> Loss {
        let text = ServerReport.flattened(String(cString: PQerrorMessage(handle)))
        return Loss(text.isEmpty ? "the connection is gone" : text)
    }

    /// The next result; nil at the end of a statement's answer.
    func receive(_ patience: inout Patience) throws(Loss) -> OpaquePointer? {
        while true {
            let isUnsent = PQflush(handle) == 1
            if PQisBusy(handle) == 0 { return PQgetResult(handle) }
            switch patience.next(now: .now, canceller: canceller) {
            case .giveUp(let reason):
                throw Loss("the server did not answer", reason: reason)
            case .wait(let limit):
                let isReadable = wait(forWriting: isUnsent, limit)
                guard isReadable, PQconsumeInput(handle) == 0, PQisBusy(handle) == 1 else { continue }
                throw complaint()
            }
        }
    }

    /// Waits until the socket has something for us; an interrupted wait counts as nothing.
    private func wait(forWriting isUnsent: Bool, _ limit: Duration) -> Bool {
        let events = isUnsent ? POLLIN | POLLOUT : POLLIN
        var watched = pollfd(fd: PQsocket(handle), events: Int16(truncatingIfNeeded: events), revents: 0)
        guard poll(&watched, 1, limit.pollMilliseconds) > 0 else { return false }
        return Int32(watched.revents) & ~POLLOUT != 0
    }

    /// A cancel request that our own impatience sent must be through before the next statement.
    private func settle(_ patience: Patience) {
        guard let request = patience.request, !request.wait(atMost: Patience.grace) else { return }
        retire(because: PostgresError(.connectionLost, "A cancel request to the server did not come through in time."))
    }
}
