import CCurl
import Glibc

/// One pooled easy handle with the buffers of the transfer that it carries at the moment.
///
/// Confined to the loop's thread. The loop keeps every slot alive for as long as its handle exists, since libcurl holds
/// bare pointers to it.
final class TransferSlot {
    let handle: UnsafeMutableRawPointer
    private(set) var queued: QueuedRequest?

    private let options: CurlTransportOptions
    private let progress: TransferProgress
    private let detail = UnsafeMutableBufferPointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
    private let headerLines = HeaderLines()
    private var answer: AnswerBuffer
    private var body: [UInt8] = []
    private var bodyOffset = 0
    private var wasAddressRefused = false

    init(_ options: CurlTransportOptions, _ progress: TransferProgress) throws(TransferError) {
        guard let handle = curl_easy_init() else { throw options.refusal("libcurl has no memory for a transfer") }
        self.handle = handle
        self.options = options
        self.progress = progress
        detail.initialize(repeating: 0)
        answer = AnswerBuffer(bodyLimit: options.bodyLimit)
        let failure = configure(options, detail: detail)
        guard failure == CURLE_OK else {
            throw options.refusal("libcurl refuses an option (\(String(cString: curl_easy_strerror(failure))))")
        }
    }

    deinit {
        curl_easy_cleanup(handle)
        detail.deallocate()
    }

    /// Makes the handle ready to carry `queued`; throws if the request must not or cannot be sent.
    func prepare(_ queued: QueuedRequest) throws(TransferError) {
        let request = queued.request
        try RequestRules.check(request)
        let lines = try headerLines.build(for: request)
        detail[0] = 0
        answer = AnswerBuffer(bodyLimit: options.bodyLimit)
        body = request.body
        bodyOffset = 0
        wasAddressRefused = false
        let failure = apply(request, headers: lines)
        guard failure == CURLE_OK else { throw CurlFailure.error(failure, for: request, detail: "") }
        self.queued = queued
    }

    /// Forgets the transfer; the handle must have left the multi handle.
    func release() {
        queued = nil
        body = []
        answer = AnswerBuffer(bodyLimit: options.bodyLimit)
    }

    /// The outcome of a transfer that libcurl has ended.
    func conclude(_ result: CURLcode, of queued: QueuedRequest) -> TransferOutcome {
        guard result == CURLE_OK || (result == CURLE_WRITE_ERROR && answer.isBodyTruncated) else {
            return failed(failure(result, of: queued))
        }
        let status = number(CURLINFO_RESPONSE_CODE)
        guard answer.isComplete(status: status, announced: offset(CURLINFO_CONTENT_LENGTH_DOWNLOAD_T)) else {
            return failed(CurlFailure.error(CURLE_PARTIAL_FILE, for: queued.request, detail: ""))
        }
        return .answered(
            TransferAnswer(
                status: status,
                headers: AnswerHeaders(lines: answer.lines),
                body: answer.body,
                isBodyTruncated: answer.isBodyTruncated,
                version: number(CURLINFO_HTTP_VERSION) >= Int(CURL_HTTP_VERSION_2_0) ? .http2 : .http1,
                newConnections: number(CURLINFO_NUM_CONNECTS),
                retryAfterSeconds: retryAfter
            )
        )
    }

    /// The outcome of a transfer that we end ourselves.
    func abandon(_ reason: Abandonment, of queued: QueuedRequest) -> TransferOutcome {
        failed(reason.error(for: queued.request))
    }

    private func failure(_ result: CURLcode, of queued: QueuedRequest) -> TransferError {
        // After the request has gone out, "unsupported protocol" means an answer without HTTP in it.
        let result = result == CURLE_UNSUPPORTED_PROTOCOL && wasSent ? CURLE_WEIRD_SERVER_REPLY : result
        guard result == CURLE_COULDNT_CONNECT, wasAddressRefused else {
            return CurlFailure.error(result, for: queued.request, detail: DetailText.printable(detail))
        }
        return TransferError(
            .addressRefused,
            "\(queued.request.attempt): its name leads to addresses that are not public; do not try again"
        )
    }

    /// Not sent only if libcurl never handed a byte of the request to a connection.
    ///
    /// That covers its own silent repeats too: the counters run on over all attempts of a transfer.
    private func failed(_ error: TransferError) -> TransferOutcome {
        wasSent ? .unknown(error) : .notSent(error)
    }

    private var wasSent: Bool {
        number(CURLINFO_REQUEST_SIZE) > 0 || offset(CURLINFO_SIZE_UPLOAD_T) > 0
    }

    private var retryAfter: Int? {
        guard answer.hasRetryAfter, let value = AnswerHeaders(lines: answer.lines)["retry-after"] else { return nil }
        return RetryAfter.seconds(value, now: time(nil))
    }

    private func number(_ info: CURLINFO) -> Int {
        var value = 0
        return bellhop_easy_get_long(handle, info, &value) == CURLE_OK ? value : 0
    }

    private func offset(_ info: CURLINFO) -> Int {
        var value: curl_off_t = 0
        return bellhop_easy_get_offset(handle, info, &value) == CURLE_OK ? Int(clamping: value) : 0
    }
}

/// What libcurl asks of a slot while it works on the transfer.
extension TransferSlot {
    static func slot(_ context: UnsafeMutableRawPointer?) -> TransferSlot? {
        context.map { Unmanaged<TransferSlot>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Gives the next bytes of the request's body; 0 at its end.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(buffer.count, body.count - bodyOffset)
        body.withUnsafeBytes {
            buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[bodyOffset...].prefix(count)))
        }
        bodyOffset += count
        return count
    }

    /// Whether nothing of the body was read: libcurl 8 rewinds before it starts, where the transfer before this one on the
    /// same handle has failed.
    var isAtStart: Bool { bodyOffset == 0 }

    func takeLine(_ line: UnsafeRawBufferPointer) -> Bool {
        progress.hasReceived = true
        return answer.takeLine(line)
    }

    func takeBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
        progress.hasReceived = true
        return answer.takeBody(bytes)
    }

    func openSocket(_ target: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t {
        guard let socket = SocketOpener.open(target, policy: options.addressPolicy) else {
            wasAddressRefused = true
            return CURL_SOCKET_BAD
        }
        return socket
    }
}
