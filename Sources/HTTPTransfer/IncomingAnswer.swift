import Glibc

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
    package mutating func endHead() {
        isHeadComplete = isHeadComplete || status >= 200
    }

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
