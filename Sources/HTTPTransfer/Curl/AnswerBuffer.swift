/// Collects an answer while it arrives and keeps it within bounds.
struct AnswerBuffer {
    /// Longer header blocks are no answer of a provider.
    private static let headLimit = 64 * 1024

    private let bodyLimit: Int
    private(set) var lines: [UInt8] = []
    private(set) var body: [UInt8] = []

    /// Bytes of the body were dropped since they exceeded the cap.
    private(set) var isBodyTruncated = false

    private(set) var hasRetryAfter = false

    /// The blank line after the headers has come.
    ///
    /// libcurl takes an answer that breaks off before it for a whole one.
    private(set) var isHeadComplete = false

    init(bodyLimit: Int) {
        self.bodyLimit = bodyLimit
    }

    /// Takes one line of the head; false ends the transfer.
    ///
    /// A status line begins anew, since an interim answer (1xx) may have come before. Trailers are dropped.
    mutating func takeLine(_ line: UnsafeRawBufferPointer) -> Bool {
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
        guard lines.count + line.count <= Self.headLimit else { return false }
        lines.append(contentsOf: line)
        hasRetryAfter = hasRetryAfter || Self.isRetryAfter(line)
        return true
    }

    /// Takes a piece of the body; false ends the transfer once the cap is exceeded.
    mutating func takeBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let room = bodyLimit - body.count
        body.append(contentsOf: bytes.prefix(room))
        isBodyTruncated = bytes.count > room
        return !isBodyTruncated
    }

    private static func isRetryAfter(_ line: UnsafeRawBufferPointer) -> Bool {
        let name = "retry-after:".utf8
        return line.count >= name.count && zip(line, name).allSatisfy { ASCII.lowercased($0) == $1 }
    }
}
