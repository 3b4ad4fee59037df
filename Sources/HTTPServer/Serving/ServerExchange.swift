import CMicroHTTPD
import Synchronization

/// One request and its answer, from the request line to the last byte sent.
///
/// libmicrohttpd calls for it several times: with the headers, with each part of the body, with the end of the request,
/// and again when its connection is resumed with an answer.
final class ServerExchange: Sendable {
    /// The phase of an exchange, which only moves forward.
    enum Phase: Sendable {
        /// The request line has been received, unchanged.
        case begun(uri: String)
        case receiving(HTTPRequestHead, body: [UInt8])
        /// The body is not stored; the rest of it is discarded before the rejection is sent.
        case overflowing(HTTPRequestHead.Refusal, discarded: Int)
        /// A handler has the request.
        case running
        /// The answer is known, and the connection has been resumed to send it.
        case answered(HTTPResponse)
        /// libmicrohttpd has the answer.
        case queued
    }

    let phase: Mutex<Phase>
    /// The bytes of its body.
    let heldBody = Mutex<HeldBody?>(nil)
    /// The stream of its answer.
    let stream = Mutex<StreamBody?>(nil)
    private let handling = Mutex(Handling())

    /// The handler's part of an exchange.
    private struct Handling {
        /// The connection while the handler has the request; libmicrohttpd then waits, and the connection cannot end.
        var suspended: ClientConnection?
        var task: Task<Void, Never>?
    }

    /// The stored bytes of a body, and the budget in which they count.
    struct HeldBody {
        let budget: BodyBudget
        let bytes: Int
    }

    init(uri: String) { phase = Mutex(.begun(uri: uri)) }

    /// Suspends the connection; only inside a callback.
    func suspend(_ connection: ClientConnection) {
        handling.withLock { handling in
            connection.suspend()
            handling.suspended = connection
        }
    }

    /// Starts the handler, and resumes the suspended connection with its answer.
    func handle(_ handler: @escaping @Sendable () async -> HTTPResponse) {
        let task = Task {
            let response = await handler()
            _ = answer(response)
        }
        let isOpen = handling.withLock { handling in
            guard handling.suspended != nil else { return false }
            handling.task = task
            return true
        }
        if !isOpen { task.cancel() }
    }

    /// Answers in place of a handler that has not finished, and cancels it.
    func abandon(with response: HTTPResponse) { answer(response)?.cancel() }

    /// Stores the answer and resumes the connection; only the first answer counts.
    ///
    /// The connection is resumed under the lock, because the server stops libmicrohttpd as soon as no exchange is
    /// suspended.
    private func answer(_ response: HTTPResponse) -> Task<Void, Never>? {
        handling.withLock { handling in
            guard let connection = handling.suspended.take() else { return nil }
            phase.withLock { $0 = .answered(response) }
            connection.resume()
            return handling.task.take()
        }
    }
}

/// A request before its body.
struct HTTPRequestHead: Sendable {
    let method: String
    let target: RequestTarget
    let headers: HTTPHeaders
    /// The address of the connection's other end; `nil` if it cannot be determined.
    let peer: PeerAddress?
    /// The maximum bytes of the body.
    var mostBytes: Int
    /// The budget of the body.
    var budget = BodyBudget.usual
    /// Whether the server's admission has accepted it.
    var isAdmitted = false
    let note = RequestNote()

    /// Returns the head, or the reason for its rejection; `headers` is `nil` if a field is malformed.
    static func read(
        method: String,
        uri: String,
        headers: HTTPHeaders?,
        peer: PeerAddress?,
        limits: HTTPLimits
    ) -> Result<HTTPRequestHead, Refusal> {
        guard let headers else {
            return .failure(Refusal(status: 400, code: "bad-header", message: "a header field is malformed"))
        }
        guard let target = RequestTarget(uri) else {
            return .failure(Refusal(status: 400, code: "bad-path", message: "the path or the query is malformed"))
        }
        if let refusal = fault(in: headers, limits) { return .failure(refusal) }
        return .success(
            HTTPRequestHead(method: method, target: target, headers: headers, peer: peer, mostBytes: limits.bodyBytes)
        )
    }

    /// The announced length of the body; `nil` if it is not known in advance.
    private var announcedBytes: UInt64? {
        headers["transfer-encoding"] == nil ? headers["content-length"].flatMap { UInt64($0) } ?? 0 : nil
    }

    /// Whether a body may follow.
    var announcesBody: Bool { announcedBytes != 0 }

    /// Whether the announced body is longer than the request may send.
    var isTooLarge: Bool { announcedBytes.map { $0 > UInt64(clamping: mostBytes) } ?? false }

    /// Returns the error in the fields that define a request's host and its end.
    ///
    /// An ambiguity in either allows requests to be smuggled past a proxy.
    private static func fault(in headers: HTTPHeaders, _ limits: HTTPLimits) -> Refusal? {
        guard headers.values(of: "host").count <= 1 else {
            return Refusal(status: 400, code: "bad-host", message: "the host is given twice")
        }
        let lengths = headers.values(of: "content-length")
        let encoding = headers["transfer-encoding"]
        if let encoding, encoding.lowercased() != "chunked" {
            return Refusal(status: 501, code: "unknown-encoding", message: "the only transfer encoding is chunked")
        }
        guard lengths.count + (encoding == nil ? 0 : 1) <= 1 else {
            return Refusal(status: 400, code: "bad-framing", message: "the length is given in two ways")
        }
        guard let length = lengths.first else { return nil }
        guard let count = UInt64(length) else {
            return Refusal(status: 400, code: "bad-framing", message: "the length is not a number")
        }
        return count <= UInt64(clamping: limits.bodyBytes) ? nil : .tooLarge(limits.bodyBytes)
    }

    /// The rejection of a request that no handler receives.
    struct Refusal: Error {
        let status: Int
        let code: String
        let message: String

        static func tooLarge(_ bytes: Int) -> Refusal {
            let message = bytes == 0 ? "this request takes no body" : "a body may have \(bytes) bytes"
            return Refusal(status: 413, code: "too-large", message: message)
        }

        /// The bodies of other requests have used up the budget.
        static let busy = Refusal(status: 503, code: "busy", message: "too many bodies are being received; try again")

        /// The response, which closes the connection because the data that follows may be ambiguous.
        var response: HTTPResponse {
            var response = HTTPResponse.failure(status, code: code, message: message)
            response.headers["Connection"] = "close"
            if status == 503 { response.headers["Retry-After"] = "1" }
            return response
        }
    }
}

/// Collects the header fields of a request and checks that every line of the head is one well-formed field.
///
/// A name must be a token and a value must not contain CR, LF or NUL (RFC 9110 5.5 and 5.6.2). If a program and a proxy
/// in front of it read a malformed line differently, a body may be read as another request.
///
/// libmicrohttpd before 1.0 accepts any text before the first colon as a name, ends a line at a NUL and loses parts of
/// folded lines. It leaves the lines where it received them and overwrites each line break with NUL. A line therefore
/// has to begin two bytes after the previous value. Later releases trim values in place and reject such lines
/// themselves.
struct FieldLines {
    private(set) var headers = HTTPHeaders()
    private var areSound = true
    /// The end of the previous value.
    private var end: UnsafeRawPointer?

    mutating func add(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        if bellhop_keeps_lines, let end, name.baseAddress != end + 2 { areSound = false }
        if !Self.isToken(name) || value.contains(where: Self.breaksLines) { areSound = false }
        end = value.baseAddress.map { UnsafeRawPointer($0 + value.count) }
        headers.add(String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self))
    }

    /// Whether all lines are well-formed.
    ///
    /// It must be read after the last field, while libmicrohttpd keeps the head.
    var areWellFormed: Bool {
        guard areSound, bellhop_keeps_lines, let end else { return areSound }
        // The line break and the empty line after it. The records of the fields follow in the same block of memory.
        return (0..<4).allSatisfy { end.load(fromByteOffset: $0, as: UInt8.self) == 0 }
    }

    private static func isToken(_ name: UnsafeRawBufferPointer) -> Bool {
        !name.isEmpty
            && name.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
                default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
                }
            }
    }

    private static func breaksLines(_ byte: UInt8) -> Bool {
        byte == 0 || byte == 0x0A || byte == 0x0D
    }
}
