/// Requests that wait for their turn: first come, first served for each origin, and the origins take turns, so that
/// one that is slow does not hold up the others.
struct TransferQueue {
    /// Origins that are remembered without having anything to do.
    private static let memory = 512

    private let connections: Int
    private let streams: Int
    private var origins: [String: Origin] = [:]

    /// Those that have something to start, and whose turn it is.
    private var waiting: [Origin] = []
    private var turn = 0

    /// The last one that was looked up: most batches go to one origin.
    private var latest: Origin?

    init(connections: Int, streams: Int) {
        self.connections = connections
        self.streams = streams
    }

    mutating func append(_ batch: TransferBatch) {
        forgetIdleOrigins()
        for (index, request) in batch.requests.enumerated() {
            let origin = origin(of: request.url)
            if origin.isEmpty { waiting.append(origin) }
            origin.append(TransferTicket(batch: batch, index: index, origin: origin))
        }
    }

    /// The next request that may start; nil when nothing waits or no gate is open.
    mutating func next(now: ContinuousClock.Instant) -> TransferTicket? {
        for _ in waiting.indices {
            if turn >= waiting.count { turn = 0 }
            guard let ticket = waiting[turn].next(now: now) else {
                turn += 1
                continue
            }
            if ticket.origin.isEmpty { waiting.remove(at: turn) } else { turn += 1 }
            return ticket
        }
        return nil
    }

    /// Takes out what waits of the batches that are meant and settles it as not sent.
    mutating func refuse(_ reason: Abandonment, where isMeant: (TransferBatch) -> Bool = { _ in true }) {
        for origin in waiting {
            for ticket in origin.remove(where: isMeant) {
                ticket.batch.settle(ticket.index, .notSent(reason.error(for: ticket.request)))
            }
        }
        waiting.removeAll(where: \.isEmpty)
    }

    private mutating func origin(of url: String) -> Origin {
        if let latest, latest.owns(url) { return latest }
        let prefix = Origin.prefix(of: url)
        let origin = origins[prefix] ?? makeOrigin(prefix)
        latest = origin
        return origin
    }

    private mutating func makeOrigin(_ prefix: String) -> Origin {
        let origin = Origin(prefix: prefix, gate: OriginGate(connections: connections, streams: streams))
        origins[prefix] = origin
        return origin
    }

    /// Endpoints from strangers could otherwise fill the memory with origins.
    private mutating func forgetIdleOrigins() {
        guard origins.count > Self.memory else { return }
        origins = origins.filter { !$0.value.isEmpty || $0.value.gate.inFlight > 0 }
        latest = nil
    }
}
