import CCurl

/// One connection to a mail server: an easy handle, which keeps the connection between mails.
///
/// Thread safety: a connection is either idle in the list of `BlockingConnectionPool`, which a lock guards, or used by
/// the single thread that took it out.
final class SMTPConnection: BlockingConnection, @unchecked Sendable {
    /// The maximum idle time in seconds of a reused connection; servers close connections that are idle for longer.
    private static let longestRest = 30

    private let options: SMTPTransportOptions
    private var easy: EasyHandle?
    private var dialogue = SMTPDialogue()
    private var content = OutgoingBytes()
    /// Whether libcurl has been given the end of the content, which is sent from then on.
    private var isContentOver = false
    private var turn: BlockingJob<SMTPConnection>?

    init(_ options: SMTPTransportOptions) throws(TransferError) {
        self.options = options
        easy = try EasyHandle(refusal: options.refusal) { configure(&$0) }
    }

    static func attempt(_ mail: OutgoingMail, _ options: SMTPTransportOptions) -> String { options.attempt }

    func end() { easy = nil }

    /// Sends one mail and waits for its outcome.
    ///
    /// An idle connection may have been closed meanwhile, or may be closing (421). A mail that it did not accept is
    /// sent again on a new connection.
    func carry(_ turn: BlockingJob<SMTPConnection>) -> MailOutcome {
        let mail = turn.job
        if let fault = mail.fault {
            return .notSent(TransferError(.invalidRequest, "\(options.attempt) refused before sending: \(fault)"))
        }
        guard let easy else { return .notSent(AbortReason.closed.error(attempt: options.attempt)) }
        guard turn.depart() else { return .notSent(AbortReason.cancelled.error(attempt: options.attempt)) }
        self.turn = turn
        defer {
            content = OutgoingBytes()
            self.turn = nil
        }
        let outcome = perform(mail, easy, freshly: false)
        let isAtStart = dialogue.phase == .connect || dialogue.phase == .mail
        let isOnKept = easy.number(CURLINFO_NUM_CONNECTS) == 0
        guard isAtStart, outcome.mayBeOfStaleConnection, isOnKept, !turn.isAbandoned else { return outcome }
        return perform(mail, easy, freshly: true)
    }

    private func perform(_ mail: OutgoingMail, _ easy: EasyHandle, freshly: Bool) -> MailOutcome {
        dialogue = SMTPDialogue()
        content = OutgoingBytes(mail.content)
        isContentOver = false
        let outcome = EasyHandle.withList(["<\(mail.recipient)>"]) { recipients -> MailOutcome in
            let failure = easy.set {
                $0.set(CURLOPT_MAIL_FROM, "<\(mail.sender)>")
                $0.keep(bellhop_easy_set_recipients($0.handle, recipients))
                $0.keep(bellhop_easy_set_offset($0.handle, CURLOPT_INFILESIZE_LARGE, curl_off_t(content.count)))
                $0.set(CURLOPT_FRESH_CONNECT, freshly)
                $0.set(CURLOPT_SERVER_RESPONSE_TIMEOUT, patience)
            }
            // The handle must not keep a pointer to a list that is freed.
            defer { _ = bellhop_easy_set_recipients(easy.pointer, nil) }
            guard failure == CURLE_OK else { return .notSent(error(failure, easy)) }
            return conclude(easy.perform(), easy)
        }
        return outcome ?? .notSent(error(CURLE_OUT_OF_MEMORY, easy))
    }

    /// Returns the outcome: the server's reply has priority over the progress of the transfer.
    private func conclude(_ result: CURLcode, _ easy: EasyHandle) -> MailOutcome {
        guard dialogue.phase == .endOfData else {
            if let reply = dialogue.reply, reply.code >= 400 { return .refused(reply, at: dialogue.phase) }
            switch result {
            case CURLE_USE_SSL_FAILED: return .unsuitable(.encryption)
            case CURLE_LOGIN_DENIED: return .unsuitable(.authentication)
            default: return .notSent(error(result, easy))
            }
        }
        guard let reply = dialogue.reply else {
            return isContentOver ? .unknown(error(result, easy)) : .notSent(error(result, easy))
        }
        if reply.code >= 400 { return .refused(reply, at: .endOfData) }
        return reply.code < 300 ? .accepted(reply) : .unknown(error(CURLE_WEIRD_SERVER_REPLY, easy))
    }

    private func error(_ result: CURLcode, _ easy: EasyHandle) -> TransferError {
        // No callback ends a transfer successfully before the server has answered, so `CURLE_OK` means an invalid reply
        // here.
        let result = result == CURLE_OK ? CURLE_WEIRD_SERVER_REPLY : result
        return CurlFailure.error(result, attempt: options.attempt, detail: easy.words)
    }

    /// The timeout in seconds for one reply, derived from the total.
    private var patience: Int { Int(clamping: options.timeouts.total.components.seconds + 1) }
}

extension MailOutcome {
    /// Whether the outcome may be caused by a connection that was idle for too long.
    fileprivate var mayBeOfStaleConnection: Bool {
        switch self {
        case .notSent(let error): error.code == .connectionLost || error.code == .protocolViolation
        case .refused(let reply, _): reply.code == 421
        case .accepted, .unsuitable, .unknown: false
        }
    }
}

// libcurl's options and the callbacks of a transfer.
extension SMTPConnection {
    private static func connection(_ context: UnsafeMutableRawPointer?) -> SMTPConnection? {
        context.map { Unmanaged<SMTPConnection>.fromOpaque($0).takeUnretainedValue() }
    }

    private func configure(_ easy: inout EasyOptions) {
        easy.keepHouseRules(authoritiesFile: options.authoritiesFile)
        easy.set(CURLOPT_PROTOCOLS_STR, options.encryption == .fromTheStart ? "smtps" : "smtp")
        easy.set(CURLOPT_URL, options.url)
        easy.set(CURLOPT_USE_SSL, bellhop_use_ssl_always)
        // The protocols that ALPN names are those of the web.
        easy.set(CURLOPT_SSL_ENABLE_ALPN, false)
        if let login = options.login {
            easy.set(CURLOPT_USERNAME, login.user)
            easy.set(CURLOPT_PASSWORD, login.password.revealed)
            easy.set(CURLOPT_LOGIN_OPTIONS, "AUTH=PLAIN;AUTH=LOGIN")
        }
        easy.set(CURLOPT_UPLOAD, true)
        easy.set(CURLOPT_TIMEOUT_MS, milliseconds: options.timeouts.total)
        easy.set(CURLOPT_CONNECTTIMEOUT_MS, milliseconds: options.timeouts.connect)
        easy.set(CURLOPT_MAXAGE_CONN, Self.longestRest)
        listen(&easy)
    }

    private func listen(_ easy: inout EasyOptions) {
        let context = Unmanaged.passUnretained(self).toOpaque()
        for option in [CURLOPT_READDATA, CURLOPT_DEBUGDATA, CURLOPT_XFERINFODATA] {
            easy.set(option, pointer: context)
        }
        easy.keep(
            bellhop_easy_set_read(easy.handle) { buffer, size, count, context in
                let room = UnsafeMutableRawBufferPointer(start: buffer, count: size * count)
                return SMTPConnection.connection(context)?.read(into: room) ?? Int(CURL_READFUNC_ABORT)
            }
        )
        // Only replies arrive, and the debug callback reads them; without this, libcurl would print the data.
        easy.keep(bellhop_easy_set_write(easy.handle, CURLOPT_WRITEFUNCTION) { _, size, count, _ in size * count })
        easy.keep(
            bellhop_easy_set_debug(easy.handle) { _, kind, bytes, count, context in
                let piece = UnsafeRawBufferPointer(start: bytes, count: count)
                switch kind {
                case CURLINFO_HEADER_OUT: SMTPConnection.connection(context)?.hear(piece)
                case CURLINFO_HEADER_IN: SMTPConnection.connection(context)?.dialogue.received(piece)
                default: break
                }
                return 0
            }
        )
        easy.set(CURLOPT_VERBOSE, true)
        easy.keep(
            bellhop_easy_set_progress(easy.handle) { context, _, _, _, _ in
                SMTPConnection.connection(context)?.turn?.isAbandoned == true ? 1 : 0
            }
        )
        easy.set(CURLOPT_NOPROGRESS, false)
    }

    /// Receives an outgoing command.
    ///
    /// After a failure, libcurl sends QUIT and waits for the answer before it reports the outcome. A hanging server
    /// must not delay the outcome for the same time again.
    private func hear(_ command: UnsafeRawBufferPointer) {
        dialogue.sent(command)
        guard dialogue.isOver, let easy else { return }
        _ = bellhop_easy_set_long(easy.pointer, CURLOPT_SERVER_RESPONSE_TIMEOUT, 1)
    }

    /// Returns the next bytes of the mail; 0 at its end.
    private func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = content.copy(into: buffer)
        // The last piece means the end as clearly as the empty one after it, because libcurl has been given the size.
        isContentOver = content.isOver
        return count
    }
}
