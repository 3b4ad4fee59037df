import CCurl

/// One connection to a mail server: an easy handle, which keeps it from mail to mail.
///
/// Thread safety: a lane is either at rest in the desk's list, which a lock guards, or with the one thread that took it
/// out.
final class MailLane: Lane, @unchecked Sendable {
    /// How many seconds a connection may rest and still be used; servers close what rests longer.
    private static let longestRest = 30

    private let options: SMTPTransportOptions
    private var easy: EasyHandle?
    private var dialogue = SMTPDialogue()
    private var content = OutgoingBytes()
    /// libcurl was told that nothing more comes: the end of the content goes out from here on.
    private var isContentOver = false
    private var turn: LaneTurn<MailLane>?

    init(_ options: SMTPTransportOptions) throws(TransferError) {
        self.options = options
        easy = try EasyHandle(refusal: options.refusal) { configure(&$0) }
    }

    static func attempt(_ mail: OutgoingMail, _ options: SMTPTransportOptions) -> String { options.attempt }

    func end() {
        easy = nil
    }

    /// Sends one mail and waits for its outcome.
    ///
    /// A connection that rested may have been closed meanwhile, or be closing (421): what it did not take is sent once
    /// more on a fresh one.
    func carry(_ turn: LaneTurn<MailLane>) -> MailOutcome {
        let mail = turn.job
        if let fault = mail.fault {
            return .notSent(TransferError(.invalidRequest, "\(options.attempt) refused before sending: \(fault)"))
        }
        guard let easy else { return .notSent(Abandonment.closed.error(attempt: options.attempt)) }
        guard turn.depart() else { return .notSent(Abandonment.cancelled.error(attempt: options.attempt)) }
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
            // The handle must not keep a pointer to a list that goes.
            defer { _ = bellhop_easy_set_recipients(easy.pointer, nil) }
            guard failure == CURLE_OK else { return .notSent(error(failure, easy)) }
            return conclude(easy.perform(), easy)
        }
        return outcome ?? .notSent(error(CURLE_OUT_OF_MEMORY, easy))
    }

    /// The server's own word decides first, then how far we came.
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
        // Nothing of ours ends a transfer that libcurl thinks well of before the server has answered.
        let result = result == CURLE_OK ? CURLE_WEIRD_SERVER_REPLY : result
        return CurlFailure.error(result, attempt: options.attempt, detail: easy.words)
    }

    /// Seconds for one reply: the total decides.
    private var patience: Int { Int(clamping: options.timeouts.total.components.seconds + 1) }
}

extension MailOutcome {
    /// Whether a connection that has rested too long would look like this.
    fileprivate var mayBeOfStaleConnection: Bool {
        switch self {
        case .notSent(let error): error.code == .connectionLost || error.code == .protocolViolation
        case .refused(let reply, _): reply.code == 421
        case .accepted, .unsuitable, .unknown: false
        }
    }
}

// What libcurl is told once, and what it asks and tells while it works.
extension MailLane {
    private static func lane(_ context: UnsafeMutableRawPointer?) -> MailLane? {
        context.map { Unmanaged<MailLane>.fromOpaque($0).takeUnretainedValue() }
    }

    private func configure(_ easy: inout EasyOptions) {
        easy.keepHouseRules(authoritiesFile: options.authoritiesFile)
        easy.set(CURLOPT_PROTOCOLS_STR, options.encryption == .fromTheStart ? "smtps" : "smtp")
        easy.set(CURLOPT_URL, options.url)
        easy.set(CURLOPT_USE_SSL, bellhop_use_ssl_always)
        // What ALPN names are protocols of the web.
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
                return MailLane.lane(context)?.read(into: room) ?? Int(CURL_READFUNC_ABORT)
            }
        )
        // Nothing comes in but replies, which the debug callback sees; without this, libcurl would print what does.
        easy.keep(bellhop_easy_set_write(easy.handle, CURLOPT_WRITEFUNCTION) { _, size, count, _ in size * count })
        easy.keep(
            bellhop_easy_set_debug(easy.handle) { _, kind, bytes, count, context in
                let piece = UnsafeRawBufferPointer(start: bytes, count: count)
                switch kind {
                case CURLINFO_HEADER_OUT: MailLane.lane(context)?.hear(piece)
                case CURLINFO_HEADER_IN: MailLane.lane(context)?.dialogue.received(piece)
                default: break
                }
                return 0
            }
        )
        easy.set(CURLOPT_VERBOSE, true)
        easy.keep(
            bellhop_easy_set_progress(easy.handle) { context, _, _, _, _ in
                MailLane.lane(context)?.turn?.isAbandoned == true ? 1 : 0
            }
        )
        easy.set(CURLOPT_NOPROGRESS, false)
    }

    /// Takes a command that goes out.
    ///
    /// After a failure libcurl says goodbye and waits for the answer before it tells us the outcome: a server that hangs
    /// must not hold up the outcome for as long again.
    private func hear(_ command: UnsafeRawBufferPointer) {
        dialogue.sent(command)
        guard dialogue.isOver, let easy else { return }
        _ = bellhop_easy_set_long(easy.pointer, CURLOPT_SERVER_RESPONSE_TIMEOUT, 1)
    }

    /// Gives the next bytes of the mail; 0 at its end.
    private func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = content.copy(into: buffer)
        // The last piece tells libcurl as much as the empty one behind it, since it knows the size.
        isContentOver = content.isOver
        return count
    }
}
