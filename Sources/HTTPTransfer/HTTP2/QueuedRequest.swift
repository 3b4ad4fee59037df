/// One request of a batch in a loop.
struct QueuedRequest {
    let batch: TransferBatch
    let index: Int

    /// The number of times that a peer rejected it unprocessed.
    var refusals = 0

    var request: TransferRequest { batch.requests[index] }
}
