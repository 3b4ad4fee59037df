import Glibc

/// The outcome of one request.
///
/// The caller's next step depends only on it.
package enum TransferOutcome: BlockingOutcome, Sendable {
    /// The peer answered completely, with any status.
    case answered(TransferAnswer)

    /// The peer certainly did not process the request, because none of it was sent; a retry is safe.
    case notSent(TransferError)

    /// Bytes of the request may have reached the peer, and no complete answer arrived: it may have been processed or
    /// not.
    case unknown(TransferError)
}

/// The negotiated HTTP version of a connection.
package enum ProtocolVersion: Hashable, Sendable {
    /// HTTP/1.0 or 1.1.
    case http1
    case http2
}

/// A complete answer.
package struct TransferAnswer: Sendable {
    /// Three digits; never 1xx.
    package let status: Int

    package let headers: AnswerHeaders

    /// The body, up to the transport's limit.
    package let body: [UInt8]

    /// Whether the body was longer than the limit.
    ///
    /// The rest was not read, but the status and the headers are valid. The peer has processed the request, so this
    /// must not look like an unknown outcome and cause a retry.
    package let isBodyTruncated: Bool

    package let version: ProtocolVersion

    /// The number of connections that were opened for this request: 0 if one was reused.
    package let newConnections: Int

    /// The peer's `Retry-After` in seconds from now, given as seconds or as a date; `nil` without one.
    ///
    /// It is clamped to 0 (also for a past date) and one year, so that arithmetic on it cannot overflow.
    package let retryAfterSeconds: Int?

    /// Returns the same answer with its body decompressed.
    package func with(body: [UInt8]) -> TransferAnswer {
        TransferAnswer(
            status: status,
            headers: headers,
            body: body,
            isBodyTruncated: isBodyTruncated,
            version: version,
            newConnections: newConnections,
            retryAfterSeconds: retryAfterSeconds
        )
    }
}

/// Collects an incoming answer and limits its size.
package struct IncomingAnswer {
    private var status = 0
    private var lines: [UInt8] = []
    private var body: [UInt8] = []
    private var hasRetryAfter = false
    private var isHeadComplete = false

    /// Whether bytes of the body were dropped because they exceeded the limit.
    package private(set) var isBodyTruncated = false

    /// Whether input has arrived that only a peer sends that has accepted the request.
    private(set) var hasBegun = false

    /// Whether the latest head is an interim one.
    var isInterim: Bool { hasBegun && !isHeadComplete }

    package init() {}

    /// Begins a header block: that of the answer, of an interim answer, or trailers.
    package mutating func beginHead() {
        hasBegun = true
        guard !isHeadComplete else { return }
        status = 0
        lines.removeAll(keepingCapacity: true)
        hasRetryAfter = false
    }

    /// Adds a field; returns false if the head exceeds its limit, or if its status is not a number of three digits.
    package mutating func takeField(_ name: some Collection<UInt8>, _ value: some Collection<UInt8>) -> Bool {
        guard !isHeadComplete else { return true }
        guard name.first != UInt8(ascii: ":") else { return takeStatus(value) }
        if lines.isEmpty { lines.reserveCapacity(Self.usualHead) }
        guard lines.count + name.count + value.count <= AnswerHeaders.longest else { return false }
        lines.append(contentsOf: name)
        lines.append(UInt8(ascii: ":"))
        lines.append(contentsOf: value)
        lines.append(UInt8(ascii: "\n"))
        hasRetryAfter = hasRetryAfter || Self.isRetryAfter(name)
        return true
    }

    /// Ends the header block; an interim answer is followed by another.
    package mutating func endHead() { isHeadComplete = isHeadComplete || status >= 200 }

    /// Adds one line of a head in HTTP/1.1 format, in which libcurl reports all versions; false ends the transfer.
    package mutating func takeLine(_ line: UnsafeRawBufferPointer) -> Bool {
        if line.starts(with: "HTTP/".utf8) {
            beginHead()
            return isHeadComplete || takeStatus(line.drop { $0 != 0x20 }.dropFirst().prefix(3))
        }
        guard let first = line.first, first != UInt8(ascii: "\r"), first != UInt8(ascii: "\n") else {
            endHead()
            return true
        }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return true }
        let end = line.last == UInt8(ascii: "\n") ? line.count - 1 : line.count
        return takeField(line[..<colon], line[(colon + 1)..<max(end, colon + 1)])
    }

    /// Adds a piece of the body; returns false if the limit is exceeded.
    package mutating func takeBody(_ piece: UnsafeRawBufferPointer, limit: Int) -> Bool {
        let room = limit - body.count
        body.append(contentsOf: piece.prefix(room))
        isBodyTruncated = piece.count > room
        return !isBodyTruncated
    }

    /// Whether the body is shorter than announced (negative: nothing was announced).
    ///
    /// libcurl before 8.0 accepts a truncated stream as complete if other streams run at the same time. A body that was
    /// cut at the limit counts as complete.
    package func misses(announced length: Int) -> Bool {
        !isBodyTruncated && status != 204 && status != 304 && body.count < length
    }

    /// Returns the answer, if there is one.
    package func finished(_ version: ProtocolVersion = .http2, newConnections: Int) -> TransferAnswer? {
        guard isHeadComplete else { return nil }
        let headers = AnswerHeaders(lines: lines)
        let retryAfter = hasRetryAfter ? headers["retry-after"] : nil
        return TransferAnswer(
            status: status,
            headers: headers,
            body: body,
            isBodyTruncated: isBodyTruncated,
            version: version,
            newConnections: newConnections,
            retryAfterSeconds: retryAfter.map { RetryAfter.seconds($0, now: time(nil)) }
        )
    }

    private mutating func takeStatus(_ digits: some Collection<UInt8>) -> Bool {
        guard digits.count == 3, digits.allSatisfy(ASCII.isDigit) else { return false }
        status = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        return true
    }

    /// The usual bytes of a provider's head, reserved to avoid reallocations.
    private static let usualHead = 256

    private static func isRetryAfter(_ name: some Collection<UInt8>) -> Bool {
        let wanted = "retry-after".utf8
        return name.count == wanted.count && zip(name, wanted).allSatisfy { ASCII.lowercased($0) == $1 }
    }
}

/// The header lines of an answer, stored verbatim and searched on request.
///
/// Most answers of a push provider are never searched for a header, so nothing is parsed in advance.
package struct AnswerHeaders: Sendable {
    /// The maximum size of a header block in bytes; no provider sends longer ones.
    static let longest = 64 * 1024

    /// The lines of the final answer without its status line, each terminated by CR LF or LF.
    private let lines: [UInt8]

    package init(lines: [UInt8]) { self.lines = lines }

    /// Returns the value of the first header named `name`, ignoring case; `nil` if there is none.
    package subscript(name: String) -> String? {
        let wanted = Array(name.utf8)
        return all.first { Self.isSame($0.name, wanted) }.map { String(decoding: $0.value, as: UTF8.self) }
    }

    /// Returns the values of all headers named `name`, ignoring case, in order.
    package func values(of name: String) -> [String] {
        let wanted = Array(name.utf8)
        return all.filter { Self.isSame($0.name, wanted) }.map { String(decoding: $0.value, as: UTF8.self) }
    }

    private typealias Line = (name: ArraySlice<UInt8>, value: ArraySlice<UInt8>)

    /// The parsed lines; lines without a colon are skipped.
    private var all: some Sequence<Line> {
        lines.split(separator: UInt8(ascii: "\n")).lazy.compactMap { line -> Line? in
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
            return (line[..<colon], Self.trimmed(line[(colon + 1)...]))
        }
    }

    private static func trimmed(_ value: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 || byte == 0x0d }
        let end = value.lastIndex { !isBlank($0) }.map { $0 + 1 } ?? value.startIndex
        return value[..<end].drop(while: isBlank)
    }

    private static func isSame(_ name: ArraySlice<UInt8>, _ wanted: [UInt8]) -> Bool {
        name.count == wanted.count && zip(name, wanted).allSatisfy { ASCII.lowercased($0) == ASCII.lowercased($1) }
    }
}
