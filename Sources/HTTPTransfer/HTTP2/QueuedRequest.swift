/// One request of a batch on its way through a loop.
struct QueuedRequest {
    let batch: TransferBatch
    let index: Int

    /// How often a peer refused it without having processed it.
    var refusals = 0

    var request: TransferRequest { batch.requests[index] }
}
