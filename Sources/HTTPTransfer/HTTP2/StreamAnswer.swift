import Glibc

/// Collects an answer from the frames of a stream and keeps it within bounds.
package struct StreamAnswer {
    private var status = 0
    private var lines: [UInt8] = []
    private var body = AnswerBody()
    private var retryAfter: String?
    private var isHeadComplete = false

    /// Something has come that only a peer sends that has taken the request.
    private(set) var hasBegun = false

    package init() {}

    /// A header block begins: that of the answer, of an interim one, or trailers.
    package mutating func beginHead() {
        hasBegun = true
        guard !isHeadComplete else { return }
        status = 0
        lines.removeAll(keepingCapacity: true)
        retryAfter = nil
    }

    /// False where the head grows beyond its bound, or has a status that is no number of three digits.
    package mutating func takeField(
        _ name: UnsafeBufferPointer<UInt8>,
        _ value: UnsafeBufferPointer<UInt8>
    ) -> Bool {
        guard !isHeadComplete else { return true }
        guard name.first != UInt8(ascii: ":") else { return takeStatus(value) }
        guard lines.count + name.count + value.count <= AnswerHeaders.longest else { return false }
        lines.append(contentsOf: name)
        lines.append(UInt8(ascii: ":"))
        lines.append(contentsOf: value)
        lines.append(UInt8(ascii: "\n"))
        guard retryAfter == nil, name.elementsEqual("retry-after".utf8) else { return true }
        retryAfter = String(decoding: value, as: UTF8.self)
        return true
    }

    /// The header block has ended; an interim answer is followed by another.
    package mutating func endHead() {
        isHeadComplete = isHeadComplete || status >= 200
    }

    /// False once the cap is exceeded.
    package mutating func takeBody(_ bytes: UnsafeBufferPointer<UInt8>, limit: Int) -> Bool {
        body.take(UnsafeRawBufferPointer(bytes), limit: limit)
    }

    /// The answer, if there is one.
    package func finished(newConnections: Int) -> TransferAnswer? {
        guard isHeadComplete else { return nil }
        return TransferAnswer(
            status: status,
            headers: AnswerHeaders(lines: lines),
            body: body.bytes,
            isBodyTruncated: body.isTruncated,
            version: .http2,
            newConnections: newConnections,
            retryAfterSeconds: retryAfter.map { RetryAfter.seconds($0, now: time(nil)) }
        )
    }

    private mutating func takeStatus(_ digits: UnsafeBufferPointer<UInt8>) -> Bool {
        guard digits.count == 3, digits.allSatisfy(ASCII.isDigit) else { return false }
        status = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        return true
    }
}
