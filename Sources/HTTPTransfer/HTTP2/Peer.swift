import ServiceRuntime

/// One host and port: the requests that wait for it, and the connections to it.
///
/// Confined to the loop's thread.
final class Peer {
    let destination: Destination
    private let tools: ConnectionTools
    private var queue = Queue<QueuedRequest>()
    private(set) var connections: [PeerConnection] = []

    /// Another connection, on top of one that works, has failed: the next attempt is not before this.
    private var restUntil: ContinuousClock.Instant?

    init(_ destination: Destination, _ tools: ConnectionTools) {
        self.destination = destination
        self.tools = tools
    }

    /// Nothing waits and nothing is connected: it may be forgotten.
    var isOver: Bool { queue.isEmpty && connections.isEmpty }
    var isWaiting: Bool { !queue.isEmpty }
    var inFlight: Int { connections.reduce(0) { $0 + $1.inFlight } }

    func append(_ request: QueuedRequest) {
        queue.append(request)
    }

    /// Gives waiting requests to connections that have room: as many as the window has room for, and one in any case,
    /// so that slow hosts cannot keep the others from their turn by filling the window.
    ///
    /// - Returns: whether it wants another connection for what still waits.
    func startWaiting(
        _ room: inout Int,
        now: ContinuousClock.Instant,
        fields: (QueuedRequest) -> RequestFields?
    ) -> Bool {
        guard !queue.isEmpty else { return false }
        var touched: [PeerConnection] = []
        defer { for connection in touched { connection.flush() } }
        var mayStart = max(room, inFlight == 0 ? 1 : 0)
        while mayStart > 0, let next = queue.first {
            guard let connection = connections.first(where: { $0.hasRoom(now: now) }) else {
                return wantsConnection(now: now)
            }
            queue.removeFirst(1)
            guard let fields = fields(next) else { continue }
            connection.submit(next, fields, now: now)
            mayStart -= 1
            room -= 1
            if touched.last !== connection { touched.append(connection) }
        }
        return false
    }

    /// Begins a connection for the first that waits.
    func connect(now: ContinuousClock.Instant) {
        guard let request = queue.first?.request else { return }
        let deadline = now + min(request.timeouts.connect, TransferTimeouts.longest)
        let connection = PeerConnection(to: destination, tools: tools, deadline: deadline)
        connections.append(connection)
        if let answer = NameLookup.literal(destination) { connection.lookedUp(answer, now: now) }
    }

    func lookedUp(_ answer: NameLookup.Answer, now: ContinuousClock.Instant) {
        for connection in connections { connection.lookedUp(answer, now: now) }
    }

    /// Takes away connections that have ended, and takes back what they did not send.
    ///
    /// Where a connection was of no use to anybody and no other is there, everything that waits fails as it did: one by
    /// one they would meet the same end one by one.
    ///
    /// - Returns: whether there was something to take.
    func sweep(now: ContinuousClock.Instant) -> Bool {
        guard connections.contains(where: \.needsSweeping) else { return false }
        var returned: [QueuedRequest] = []
        for connection in connections { returned += connection.takeReturned() }
        if !returned.isEmpty { queue = Queue(returned + queue) }
        let ended = connections.filter(\.hasEnded)
        connections.removeAll(where: \.hasEnded)
        guard let failure = ended.last(where: \.isFruitless)?.failure else { return true }
        guard connections.allSatisfy(\.isRetiring) else {
            restUntil = now + .seconds(1)
            return true
        }
        for queued in queue.take(queue.count) {
            queued.batch.settle(queued.index, .notSent(failure.error(for: queued.request, to: destination)))
        }
        return true
    }

    /// When another connection may be tried for what waits, where none may now.
    func restEnds(after now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        guard isWaiting, let restUntil, now < restUntil else { return nil }
        return restUntil
    }

    /// Gives up what waits.
    func abandonWaiting(_ reason: Abandonment, where isMeant: (TransferBatch) -> Bool = { _ in true }) {
        guard !queue.isEmpty else { return }
        let waiting = queue.take(queue.count)
        queue = Queue(waiting.filter { !isMeant($0.batch) })
        for queued in waiting where isMeant(queued.batch) {
            queued.batch.settle(queued.index, .notSent(reason.error(for: queued.request)))
        }
    }

    /// Gives up what is on its way.
    func abandonInFlight(_ reason: Abandonment, where isMeant: (TransferBatch) -> Bool = { _ in true }) {
        for connection in connections { connection.abandon(where: isMeant) { reason.error(for: $0) } }
    }

    private func wantsConnection(now: ContinuousClock.Instant) -> Bool {
        if let restUntil, now < restUntil { return false }
        let usable = connections.filter { !$0.isRetiring && !$0.hasEnded }
        // A silent connection that is being asked whether it lives is worth waiting for, and so is one that warms up.
        return usable.count < tools.options.maxConnectionsPerHost && usable.allSatisfy(\.isBusy)
    }
}
