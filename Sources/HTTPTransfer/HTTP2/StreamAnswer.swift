import Glibc

/// Collects an answer from the frames of a stream and keeps it within bounds.
struct StreamAnswer {
    /// Longer header blocks are no answer of a provider.
    private static let headLimit = 64 * 1024

    private var status = 0
    private var lines: [UInt8] = []
    private var body: [UInt8] = []
    private var retryAfter: String?
    private var isHeadComplete = false
    private(set) var isBodyTruncated = false

    /// A header block begins: that of the answer, of an interim one, or trailers.
    mutating func beginHead() {
        guard !isHeadComplete else { return }
        status = 0
        lines.removeAll(keepingCapacity: true)
        retryAfter = nil
    }

    /// False where the head grows beyond its bound.
    mutating func takeField(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Bool {
        guard !isHeadComplete else { return true }
        guard name.first != UInt8(ascii: ":") else {
            status = value.reduce(0) { $0 * 10 + Int($1 &- UInt8(ascii: "0")) }
            return value.count == 3
        }
        guard lines.count + name.count + value.count <= Self.headLimit else { return false }
        lines.append(contentsOf: name)
        lines.append(UInt8(ascii: ":"))
        lines.append(contentsOf: value)
        lines.append(UInt8(ascii: "\n"))
        if name.elementsEqual("retry-after".utf8) { retryAfter = String(decoding: value, as: UTF8.self) }
        return true
    }

    /// The header block has ended; an interim answer is followed by another.
    mutating func endHead() {
        isHeadComplete = isHeadComplete || status >= 200
    }

    /// False once the cap is exceeded.
    mutating func takeBody(_ bytes: UnsafeBufferPointer<UInt8>, limit: Int) -> Bool {
        let room = limit - body.count
        body.append(contentsOf: bytes.prefix(room))
        isBodyTruncated = bytes.count > room
        return !isBodyTruncated
    }

    /// The answer, if there is one.
    func finished(newConnections: Int) -> TransferAnswer? {
        guard isHeadComplete else { return nil }
        return TransferAnswer(
            status: status,
            headers: AnswerHeaders(lines: lines),
            body: body,
            isBodyTruncated: isBodyTruncated,
            version: .http2,
            newConnections: newConnections,
            retryAfterSeconds: retryAfter.map { RetryAfter.seconds($0, now: time(nil)) }
        )
    }
}
