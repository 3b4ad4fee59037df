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
