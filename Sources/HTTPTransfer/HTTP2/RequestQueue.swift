/// One request of a batch on its way through a loop.
struct QueuedRequest {
    let batch: TransferBatch
    let index: Int

    /// How often a peer refused it without having processed it.
    var refusals = 0

    var request: TransferRequest { batch.requests[index] }
}

/// Requests that wait for their turn, first come, first served.
struct RequestQueue {
    private var requests: [QueuedRequest] = []

    /// Requests in front of it have been taken.
    private var head = 0

    var isEmpty: Bool { head == requests.count }
    var first: QueuedRequest? { isEmpty ? nil : requests[head] }

    mutating func append(_ request: QueuedRequest) {
        requests.append(request)
    }

    /// Puts back what was taken before.
    mutating func prepend(_ returned: [QueuedRequest]) {
        requests = returned + requests[head...]
        head = 0
    }

    mutating func removeFirst() {
        head += 1
        guard head == requests.count || head > 1024 else { return }
        requests.removeFirst(head)
        head = 0
    }

    /// Takes out what is meant.
    mutating func remove(where isMeant: (TransferBatch) -> Bool) -> [QueuedRequest] {
        let waiting = requests[head...]
        let removed = waiting.filter { isMeant($0.batch) }
        requests = waiting.filter { !isMeant($0.batch) }
        head = 0
        return removed
    }
}
