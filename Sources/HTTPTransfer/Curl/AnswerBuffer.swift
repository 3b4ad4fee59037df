/// Collects an answer while it arrives and keeps it within bounds.
package struct AnswerBuffer {
    private let bodyLimit: Int
    package private(set) var lines: [UInt8] = []
    private var collected = AnswerBody()

    package private(set) var hasRetryAfter = false

    /// The blank line after the headers has come.
    private var isHeadComplete = false

    package init(bodyLimit: Int) {
        self.bodyLimit = bodyLimit
    }

    package var body: [UInt8] { collected.bytes }

    /// Bytes of the body were dropped since they exceeded the cap.
    package var isBodyTruncated: Bool { collected.isTruncated }

    /// Takes one line of the head; false ends the transfer.
    ///
    /// A status line begins anew, since an interim answer (1xx) may have come before. Trailers are dropped.
    package mutating func takeLine(_ line: UnsafeRawBufferPointer) -> Bool {
        if line.starts(with: "HTTP/".utf8) {
            lines.removeAll(keepingCapacity: true)
            isHeadComplete = false
            hasRetryAfter = false
            return true
        }
        guard !isHeadComplete else { return true }
        guard let first = line.first, first != UInt8(ascii: "\r"), first != UInt8(ascii: "\n") else {
            isHeadComplete = true
            return true
        }
        guard lines.count + line.count <= AnswerHeaders.longest else { return false }
        lines.append(contentsOf: line)
        hasRetryAfter = hasRetryAfter || Self.isRetryAfter(line)
        return true
    }

    /// Takes a piece of the body; false ends the transfer once the cap is exceeded.
    package mutating func takeBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
        collected.take(bytes, limit: bodyLimit)
    }

    /// Whether nothing is missing from an answer with `status` that announced `length` bytes (negative: nothing).
    ///
    /// libcurl takes a head that breaks off for a whole one, and before 8.0 also a stream that was cut off next to
    /// others. A body that we cut at the cap ourselves misses nothing.
    package func isComplete(status: Int, announced length: Int) -> Bool {
        guard isHeadComplete, status >= 200 else { return false }
        return isBodyTruncated || status == 204 || status == 304 || body.count >= length
    }

    private static func isRetryAfter(_ line: UnsafeRawBufferPointer) -> Bool {
        let name = "retry-after:".utf8
        return line.count >= name.count && zip(line, name).allSatisfy { ASCII.lowercased($0) == $1 }
    }
}
