/// One request of a batch on its way through a loop.
struct QueuedRequest {
    let batch: TransferBatch
    let index: Int

    /// How often a connection said goodbye before it took the request.
    var refusals = 0

    var request: TransferRequest { batch.requests[index] }
}

/// One request on a stream of a connection, and its answer.
///
/// Confined to the loop's thread.
final class Exchange {
    let queued: QueuedRequest
    let started: ContinuousClock.Instant
    let deadline: ContinuousClock.Instant

    /// How many connections were opened for it.
    let newConnections: Int

    var answer = StreamAnswer()

    /// Part of it may have reached the peer.
    var wasSent = false

    /// Its outcome is told; the stream may live on for a moment.
    private(set) var isSettled = false

    private let body: [UInt8]
    private var offset = 0

    init(_ queued: QueuedRequest, newConnections: Int, now: ContinuousClock.Instant) {
        self.queued = queued
        self.newConnections = newConnections
        let request = queued.request
        started = now
        deadline = now + request.timeouts.total
        body = request.body
    }

    var hasBody: Bool { !body.isEmpty }
    var bodyLength: Int { body.count }

    /// Copies the next bytes of the body, and says how many and whether they are the last.
    func copyBody(into buffer: UnsafeMutableBufferPointer<UInt8>) -> (count: Int, isLast: Bool) {
        let count = min(buffer.count, body.count - offset)
        body.withUnsafeBytes { source in
            UnsafeMutableRawBufferPointer(buffer).copyMemory(
                from: UnsafeRawBufferPointer(rebasing: source[offset..<offset + count])
            )
        }
        offset += count
        return (count, offset == body.count)
    }

    func settle(_ outcome: TransferOutcome) {
        guard !isSettled else { return }
        isSettled = true
        queued.batch.settle(queued.index, outcome)
    }

    /// Not sent only if not a byte of it was handed to the connection.
    func fail(_ error: TransferError) {
        settle(wasSent ? .unknown(error) : .notSent(error))
    }
}
