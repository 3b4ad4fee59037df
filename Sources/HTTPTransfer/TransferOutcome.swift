/// How one request ended.
///
/// What the caller may do next depends on nothing else.
package enum TransferOutcome: LaneOutcome, Sendable {
    /// The peer answered in full, whatever its status.
    case answered(TransferAnswer)

    /// The peer certainly did not process the request, since none of it went out: it is safe to try again.
    case notSent(TransferError)

    /// Bytes of the request may have reached the peer and no full answer came: it may have been processed or not.
    case unknown(TransferError)
}

/// The version of HTTP that a connection settled on.
package enum ProtocolVersion: Hashable, Sendable {
    /// HTTP/1.0 or 1.1.
    case http1
    case http2
}

/// A full answer.
package struct TransferAnswer: Sendable {
    /// Three digits; never 1xx.
    package let status: Int

    package let headers: AnswerHeaders

    /// At most as many bytes as the transport's cap.
    package let body: [UInt8]

    /// Whether the body was longer than the cap.
    ///
    /// The rest was not read, but the status and the headers stand: the peer has processed the request, so this must
    /// not look like an unknown outcome and cause a repeat.
    package let isBodyTruncated: Bool

    package let version: ProtocolVersion

    /// How many connections were opened for this request: 0 where one was reused.
    package let newConnections: Int

    /// The peer's `Retry-After` in seconds from now, given as seconds or as a date; nil without one.
    ///
    /// Clamped to 0 (also for a date that has passed) and one year, so that arithmetic on it cannot overflow.
    package let retryAfterSeconds: Int?

    /// The same answer with its body unpacked.
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
