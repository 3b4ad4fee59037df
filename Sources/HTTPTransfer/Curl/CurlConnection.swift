import CCurl
import Glibc

/// Sends requests with libcurl, one at a time, on a connection that is reused for the next request to the same host.
///
/// Thread safety: a connection is either idle in the list of `BlockingConnectionPool`, which a lock guards, or used by
/// the single thread that took it out.
final class CurlConnection: BlockingConnection, @unchecked Sendable {
    private let options: CurlTransportOptions
    private var easy: EasyHandle?
    private var turn: BlockingJob<CurlConnection>?
    private var answer = IncomingAnswer()
    private var body = OutgoingBytes()

    init(_ options: CurlTransportOptions) throws(TransferError) {
        self.options = options
        easy = try EasyHandle(refusal: options.refusal) { configure(&$0) }
    }

    static func attempt(_ request: TransferRequest, _ options: CurlTransportOptions) -> String { request.attempt }

    func end() { easy = nil }

    func carry(_ turn: BlockingJob<CurlConnection>) -> TransferOutcome {
        let request = turn.job
        guard let easy else { return .notSent(AbortReason.closed.error(for: request)) }
        do throws(TransferError) {
            try RequestRules.check(request)
            let lines = try HeaderLines.lines(of: request)
            self.turn = turn
            body = OutgoingBytes(request.body)
            defer { forget() }
            let outcome = EasyHandle.withList(lines) { send(request, headers: $0, over: easy) }
            return outcome ?? .notSent(CurlFailure.error(CURLE_OUT_OF_MEMORY, for: request, detail: ""))
        } catch {
            return .notSent(error)
        }
    }

    /// Removes the state of one request.
    private func forget() {
        turn = nil
        body = OutgoingBytes()
        answer = IncomingAnswer()
    }

    private func send(
        _ request: TransferRequest,
        headers: UnsafeMutablePointer<curl_slist>?,
        over easy: EasyHandle
    ) -> TransferOutcome {
        let failure = easy.set { Self.apply(request, headers, to: &$0) }
        // The handle must not keep a pointer to a list that is freed.
        defer { _ = bellhop_easy_set_headers(easy.pointer, nil) }
        guard failure == CURLE_OK else { return .notSent(CurlFailure.error(failure, for: request, detail: "")) }
        return conclude(easy.perform(), of: request, easy)
    }

    private func conclude(_ result: CURLcode, of request: TransferRequest, _ easy: EasyHandle) -> TransferOutcome {
        guard result == CURLE_OK || (result == CURLE_WRITE_ERROR && answer.isBodyTruncated) else {
            return failed(failure(result, of: request, easy), easy)
        }
        let version = easy.number(CURLINFO_HTTP_VERSION) ?? 0
        guard !answer.misses(announced: easy.bytes(CURLINFO_CONTENT_LENGTH_DOWNLOAD_T) ?? 0),
            let answer = answer.finished(
                version >= Int(CURL_HTTP_VERSION_2_0) ? .http2 : .http1,
                newConnections: easy.number(CURLINFO_NUM_CONNECTS) ?? 0
            )
        else { return failed(CurlFailure.error(CURLE_PARTIAL_FILE, for: request, detail: ""), easy) }
        return .answered(answer)
    }

    private func failure(_ result: CURLcode, of request: TransferRequest, _ easy: EasyHandle) -> TransferError {
        // After the request has been sent, "unsupported protocol" means that the answer is not HTTP.
        let isNoHTTP = result == CURLE_UNSUPPORTED_PROTOCOL && Self.wasSent(easy)
        return CurlFailure.error(isNoHTTP ? CURLE_WEIRD_SERVER_REPLY : result, for: request, detail: easy.words)
    }

    private func failed(_ error: TransferError, _ easy: EasyHandle) -> TransferOutcome {
        Self.wasSent(easy) ? .unknown(error) : .notSent(error)
    }

    /// Whether libcurl may have passed bytes of the request to a connection.
    ///
    /// False is certain. The counters continue over all attempts of a transfer, so that they include libcurl's
    /// automatic retries.
    private static func wasSent(_ easy: EasyHandle) -> Bool {
        (easy.number(CURLINFO_REQUEST_SIZE) ?? 0) > 0 || (easy.bytes(CURLINFO_SIZE_UPLOAD_T) ?? 0) > 0
    }
}

// The options of one request and the options of all requests.
extension CurlConnection {
    private static func apply(
        _ request: TransferRequest,
        _ headers: UnsafeMutablePointer<curl_slist>?,
        to easy: inout EasyOptions
    ) {
        let hasBody = !request.body.isEmpty
        easy.set(CURLOPT_URL, request.url)
        easy.keep(bellhop_easy_set_headers(easy.handle, headers))
        easy.set(CURLOPT_TIMEOUT_MS, milliseconds: request.timeouts.total)
        easy.set(CURLOPT_CONNECTTIMEOUT_MS, milliseconds: request.timeouts.connect)
        if hasBody || request.method == .post || request.method == .put {
            easy.set(CURLOPT_POST, true)
            easy.keep(bellhop_easy_set_offset(easy.handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(request.body.count)))
        } else {
            easy.set(CURLOPT_HTTPGET, true)
        }
        let isNative = request.method == .get || request.method == .post
        easy.set(CURLOPT_CUSTOMREQUEST, isNative ? nil : request.method.rawValue)
        // Without a body to rewind, the automatic retry cannot be prevented; it happens only on reused connections.
        easy.set(CURLOPT_FRESH_CONNECT, request.method == .post && !hasBody)
    }

    /// Sets the options that forbid other protocols and redirects, the options for all transfers, and the callbacks.
    private func configure(_ easy: inout EasyOptions) {
        easy.keepHouseRules(authoritiesFile: options.authoritiesFile)
        easy.set(CURLOPT_PROTOCOLS_STR, options.allowsPlainHTTP ? "http,https" : "https")
        easy.set(CURLOPT_REDIR_PROTOCOLS_STR, "https")
        easy.set(CURLOPT_FOLLOWLOCATION, false)
        easy.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
        easy.set(CURLOPT_USERAGENT, HeaderRules.ownName)
        let context = Unmanaged.passUnretained(self).toOpaque()
        listen(&easy, context)
        watch(&easy, context)
    }

    private static func connection(_ context: UnsafeMutableRawPointer?) -> CurlConnection? {
        context.map { Unmanaged<CurlConnection>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Registers the callbacks for the request's body and for the answer.
    private func listen(_ easy: inout EasyOptions, _ context: UnsafeMutableRawPointer) {
        for option in [CURLOPT_READDATA, CURLOPT_SEEKDATA, CURLOPT_WRITEDATA, CURLOPT_HEADERDATA] {
            easy.set(option, pointer: context)
        }
        easy.keep(
            bellhop_easy_set_read(easy.handle) { buffer, size, count, context in
                let room = UnsafeMutableRawBufferPointer(start: buffer, count: size * count)
                return CurlConnection.connection(context)?.body.copy(into: room) ?? Int(CURL_READFUNC_ABORT)
            }
        )
        // libcurl retries a request automatically if a reused connection ends without an answer, and rewinds the body
        // for it. The peer may have processed the first copy, so rewinding fails and the caller decides. libcurl 8 also
        // rewinds before the start if the previous transfer on the same handle has failed.
        easy.keep(
            bellhop_easy_set_seek(easy.handle) { context, offset, origin in
                let isThere =
                    CurlConnection.connection(context)?.body.isAtStart == true && offset == 0 && origin == SEEK_SET
                return isThere ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL
            }
        )
        easy.keep(
            bellhop_easy_set_write(easy.handle, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
                let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
                return CurlConnection.connection(context)?.answer.takeLine(line) == true ? line.count : 0
            }
        )
        easy.keep(
            bellhop_easy_set_write(easy.handle, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
                let piece = UnsafeRawBufferPointer(start: bytes, count: size * count)
                return CurlConnection.connection(context)?.takeBody(piece) == true ? piece.count : 0
            }
        )
    }

    /// Registers the callbacks for a new connection, for a request that is about to be sent, and for abandoned work.
    private func watch(_ easy: inout EasyOptions, _ context: UnsafeMutableRawPointer) {
        for option in [CURLOPT_PREREQDATA, CURLOPT_XFERINFODATA] {
            easy.set(option, pointer: context)
        }
        easy.keep(
            bellhop_easy_set_socket(easy.handle) { _, socket, _ in
                PeerSocket.limitUnacknowledged(socket)
                // Programs that are started meanwhile must not inherit the connection.
                _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
                return CURL_SOCKOPT_OK
            }
        )
        easy.keep(
            bellhop_easy_set_prerequest(easy.handle) { context, _, _, _, _ in
                CurlConnection.connection(context)?.turn?.depart() == true ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
            }
        )
        easy.keep(
            bellhop_easy_set_progress(easy.handle) { context, _, _, _, _ in
                CurlConnection.connection(context)?.turn?.isAbandoned == true ? 1 : 0
            }
        )
        easy.set(CURLOPT_NOPROGRESS, false)
    }

    private func takeBody(_ piece: UnsafeRawBufferPointer) -> Bool {
        answer.takeBody(piece, limit: options.bodyLimit)
    }
}

/// The header lines of a request in libcurl's format.
enum HeaderLines {
    /// Returns the header lines; throws `invalidRequest` if a header must not be sent.
    ///
    /// It disables libcurl's own additions: a form's content type on every POST, and `Expect: 100-continue`.
    static func lines(of request: TransferRequest) throws(TransferError) -> [String] {
        var lines: [String] = []
        for (index, header) in request.headers.enumerated() {
            guard HeaderRules.allowsName(header.name), header.value.utf8.allSatisfy(ASCII.isHeaderValue) else {
                throw TransferError.refusal(
                    of: request,
                    """
                    header number \(index + 1) has a name that is no token or belongs to the transport, or a value with \
                    control characters
                    """
                )
            }
            let value = HeaderRules.trimmed(header.value)
            // An empty value needs a special notation, because libcurl treats "Name:" as an order to omit the header.
            lines.append(value.isEmpty ? "\(header.name);" : "\(header.name): \(value)")
        }
        lines.append("Expect:")
        if !request.headers.contains(where: { HeaderRules.isContentType($0.name) }) { lines.append("Content-Type:") }
        return lines
    }
}
