/// One request on a stream of a connection, and its answer.
///
/// Confined to the loop's thread.
final class Exchange {
    let queued: QueuedRequest
    let started: ContinuousClock.Instant
    let deadline: ContinuousClock.Instant

    /// How many connections were opened for it.
    let newConnections: Int

    var answer = IncomingAnswer()

    var idleFrames = IdleFrames()

    /// Part of it may have reached the peer.
    var wasSent = false

    /// The peer itself has ended the stream.
    var wasReset = false

    /// Its outcome is told, or it goes another way; the stream may live on for a moment.
    private(set) var isOver = false

    /// As far as libnghttp2 has not taken it yet.
    var body: OutgoingBytes

    init(_ queued: QueuedRequest, newConnections: Int, now: ContinuousClock.Instant) {
        self.queued = queued
        self.newConnections = newConnections
        let request = queued.request
        started = now
        deadline = now + min(request.timeouts.total, TransferTimeouts.longest)
        body = OutgoingBytes(request.body)
    }

    /// Tells the outcome; nothing after it counts.
    func settle(_ outcome: TransferOutcome) {
        guard !isOver else { return }
        isOver = true
        queued.batch.settle(queued.index, outcome)
    }

    /// Not sent only if not a byte of it was handed to the connection.
    func fail(_ error: TransferError) {
        settle(wasSent ? .unknown(error) : .notSent(error))
    }

    /// The request as it goes another way.
    func handBack() -> QueuedRequest {
        isOver = true
        var queued = queued
        queued.refusals += 1
        return queued
    }
}
