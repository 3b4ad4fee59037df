import CCurl

/// One connection to a mail server: an easy handle, which keeps it from mail to mail.
///
/// Thread safety: a lane is either at rest in the desk's list, which a lock guards, or with the one thread that took it
/// out.
final class MailLane: @unchecked Sendable {
    private var handle: UnsafeMutableRawPointer?
    private let options: SMTPTransportOptions
    private let detail = UnsafeMutableBufferPointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
    private var dialogue = SMTPDialogue()
    private var content: [UInt8] = []
    private var contentOffset = 0
    /// libcurl was told that nothing more comes: the end of the content goes out from here on.
    private var isContentOver = false
    private var shouldStop: () -> Bool = { false }

    init(_ options: SMTPTransportOptions) throws(TransferError) {
        self.options = options
        guard CurlLibrary.isReady, let handle = curl_easy_init() else {
            throw options.refusal("libcurl could not be initialised")
        }
        self.handle = handle
        detail.initialize(repeating: 0)
        let failure = configure(handle)
        guard failure == CURLE_OK else {
            throw options.refusal("libcurl refuses an option (\(String(cString: curl_easy_strerror(failure))))")
        }
    }

    deinit {
        end()
        detail.deallocate()
    }

    /// Says goodbye to the server and forgets the connection; takes as long as the server's answer.
    func end() {
        handle.map { curl_easy_cleanup($0) }
        handle = nil
    }

    /// Sends one mail and waits for its outcome; `shouldStop` is asked about every second.
    ///
    /// A connection that rested may have been closed meanwhile, or be closing (421): what it did not take is sent once
    /// more on a fresh one.
    func send(_ mail: OutgoingMail, unless shouldStop: @escaping () -> Bool) -> MailOutcome {
        if let fault = mail.fault {
            return .notSent(TransferError(.invalidRequest, "\(options.attempt) refused before sending: \(fault)"))
        }
        guard let handle else {
            return .notSent(Abandonment.closed.error(attempt: options.attempt))
        }
        self.shouldStop = shouldStop
        defer {
            content = []
            self.shouldStop = { false }
        }
        let outcome = perform(mail, handle, freshly: false)
        let isAtStart = dialogue.phase == .connect || dialogue.phase == .mail
        guard isAtStart, outcome.mayBeOfStaleConnection, newConnections(handle) == 0, !shouldStop() else {
            return outcome
        }
        return perform(mail, handle, freshly: true)
    }

    private func perform(_ mail: OutgoingMail, _ handle: UnsafeMutableRawPointer, freshly: Bool) -> MailOutcome {
        dialogue = SMTPDialogue()
        content = mail.content
        contentOffset = 0
        isContentOver = false
        detail[0] = 0
        let recipients = curl_slist_append(nil, "<\(mail.recipient)>")
        defer { curl_slist_free_all(recipients) }
        guard recipients != nil else { return .notSent(error(CURLE_OUT_OF_MEMORY)) }
        var easy = EasyOptions(handle)
        easy.set(CURLOPT_MAIL_FROM, "<\(mail.sender)>")
        easy.keep(bellhop_easy_set_recipients(handle, recipients))
        easy.keep(bellhop_easy_set_offset(handle, CURLOPT_INFILESIZE_LARGE, curl_off_t(content.count)))
        easy.set(CURLOPT_FRESH_CONNECT, freshly)
        easy.set(CURLOPT_SERVER_RESPONSE_TIMEOUT, patience)
        guard easy.failure == CURLE_OK else { return .notSent(error(easy.failure)) }
        let result = curl_easy_perform(handle)
        // The handle must not keep a pointer to a list that goes.
        _ = bellhop_easy_set_recipients(handle, nil)
        return conclude(result)
    }

    /// The server's own word decides first, then how far we came.
    private func conclude(_ result: CURLcode) -> MailOutcome {
        guard dialogue.phase == .endOfData else {
            if let reply = dialogue.reply, reply.code >= 400 { return .refused(reply, at: dialogue.phase) }
            switch result {
            case CURLE_USE_SSL_FAILED: return .unsuitable(.encryption)
            case CURLE_LOGIN_DENIED: return .unsuitable(.authentication)
            default: return .notSent(error(result))
            }
        }
        guard let reply = dialogue.reply else {
            return isContentOver ? .unknown(error(result)) : .notSent(error(result))
        }
        if reply.code >= 400 { return .refused(reply, at: .endOfData) }
        return reply.code < 300 ? .accepted(reply) : .unknown(error(CURLE_WEIRD_SERVER_REPLY))
    }

    private func error(_ result: CURLcode) -> TransferError {
        // Nothing of ours ends a transfer that libcurl thinks well of before the server has answered.
        let result = result == CURLE_OK ? CURLE_WEIRD_SERVER_REPLY : result
        guard result != CURLE_ABORTED_BY_CALLBACK else { return Abandonment.cancelled.error(attempt: options.attempt) }
        return CurlFailure.error(result, attempt: options.attempt, detail: DetailText.printable(detail))
    }

    /// Seconds for one reply: the total decides.
    private var patience: Int { Int(clamping: options.timeouts.total.components.seconds + 1) }

    private func newConnections(_ handle: UnsafeMutableRawPointer) -> Int {
        var count = 0
        return bellhop_easy_get_long(handle, CURLINFO_NUM_CONNECTS, &count) == CURLE_OK ? count : 1
    }
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

    private func configure(_ handle: UnsafeMutableRawPointer) -> CURLcode {
        var easy = EasyOptions(handle)
        easy.keepHouseRules(authoritiesFile: options.authoritiesFile)
        easy.set(CURLOPT_PROXY, "")
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
        easy.set(CURLOPT_MAXAGE_CONN, Int(clamping: options.longestRest.components.seconds))
        easy.set(CURLOPT_ERRORBUFFER, pointer: detail.baseAddress)
        listen(handle, &easy)
        return easy.failure
    }

    private func listen(_ handle: UnsafeMutableRawPointer, _ easy: inout EasyOptions) {
        let context = Unmanaged.passUnretained(self).toOpaque()
        for option in [CURLOPT_READDATA, CURLOPT_DEBUGDATA, CURLOPT_XFERINFODATA] {
            easy.set(option, pointer: context)
        }
        easy.keep(
            bellhop_easy_set_read(handle) { buffer, size, count, context in
                let room = UnsafeMutableRawBufferPointer(start: buffer, count: size * count)
                return MailLane.lane(context)?.read(into: room) ?? Int(CURL_READFUNC_ABORT)
            }
        )
        // Nothing comes in but replies, which the debug callback sees; without this, libcurl would print what does.
        easy.keep(bellhop_easy_set_write(handle, CURLOPT_WRITEFUNCTION) { _, size, count, _ in size * count })
        easy.keep(
            bellhop_easy_set_debug(handle) { _, kind, bytes, count, context in
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
            bellhop_easy_set_progress(handle) { context, _, _, _, _ in
                MailLane.lane(context)?.shouldStop() == true ? 1 : 0
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
        guard dialogue.isOver, let handle else { return }
        _ = bellhop_easy_set_long(handle, CURLOPT_SERVER_RESPONSE_TIMEOUT, 1)
    }

    /// Gives the next bytes of the mail; 0 at its end.
    private func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(buffer.count, content.count - contentOffset)
        content.withUnsafeBytes {
            buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[contentOffset...].prefix(count)))
        }
        contentOffset += count
        // The last piece tells libcurl as much as the empty one behind it, since it knows the size.
        isContentOver = contentOffset == content.count
        return count
    }
}
