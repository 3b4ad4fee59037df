/// One request on a stream of a connection, and its answer.
///
/// Confined to the loop's thread.
final class HTTP2Exchange {
    let queued: QueuedRequest
    let started: ContinuousClock.Instant
    let deadline: ContinuousClock.Instant

    /// The number of connections that were opened for the request.
    let newConnections: Int

    var answer = IncomingAnswer()

    var idleFrames = IdleFrames()

    /// Whether a part of the request may have reached the peer.
    var wasSent = false

    /// Whether the peer has ended the stream.
    var wasReset = false

    /// Whether the outcome has been reported, or the request has been returned; the stream may exist slightly longer.
    private(set) var isOver = false

    /// The part of the body that libnghttp2 has not taken yet.
    var body: OutgoingBytes

    init(_ queued: QueuedRequest, newConnections: Int, now: ContinuousClock.Instant) {
        self.queued = queued
        self.newConnections = newConnections
        let request = queued.request
        started = now
        deadline = now + min(request.timeouts.total, TransferTimeouts.longest)
        body = OutgoingBytes(request.body)
    }

    /// Reports the outcome; later outcomes are ignored.
    func settle(_ outcome: TransferOutcome) {
        guard !isOver else { return }
        isOver = true
        queued.batch.settle(queued.index, outcome)
    }

    /// Reports a failure as not sent only if no byte of the request was passed to the connection.
    func fail(_ error: TransferError) { settle(wasSent ? .unknown(error) : .notSent(error)) }

    /// Returns the request so that it can be sent on another stream or connection.
    func handBack() -> QueuedRequest {
        isOver = true
        var queued = queued
        queued.refusals += 1
        return queued
    }
}

/// Counts frames that do not advance an answer: interim heads, and DATA frames without data.
///
/// A peer may send some of each. A peer that keeps sending them occupies a processor for the whole timeout of the
/// request.
struct IdleFrames {
    private var interimHeads = 0
    private var emptyFrames = 0
    private var hasBody = false

    /// Records that the current frame contained a piece of the body.
    mutating func noteBody() { hasBody = true }

    /// Counts a finished frame, which is either an interim head or a DATA frame; returns false if there were too many.
    mutating func end(isHead: Bool) -> Bool {
        defer { hasBody = false }
        if isHead {
            interimHeads += 1
        } else if !hasBody {
            emptyFrames += 1
        }
        return interimHeads <= Self.mostInterimHeads && emptyFrames <= Self.mostEmptyFrames
    }

    static let mostInterimHeads = 16
    static let mostEmptyFrames = 100
}
