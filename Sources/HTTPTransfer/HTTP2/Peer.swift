import ServiceRuntime

/// One host and port: the requests that wait for it, and the connections to it.
///
/// Confined to the loop's thread.
final class Peer {
    let destination: Destination
    private let tools: ConnectionContext
    private var queue = Queue<QueuedRequest>()
    private(set) var connections: [PeerConnection] = []

    /// The earliest time for another connection, after an additional one has failed while one works.
    private var restUntil: ContinuousClock.Instant?

    init(_ destination: Destination, _ tools: ConnectionContext) {
        self.destination = destination
        self.tools = tools
    }

    /// Whether no request waits and no connection exists, so that the peer can be removed.
    var isOver: Bool { queue.isEmpty && connections.isEmpty }
    var isWaiting: Bool { !queue.isEmpty }
    var inFlight: Int { connections.reduce(0) { $0 + $1.inFlight } }

    func append(_ request: QueuedRequest) { queue.append(request) }

    /// Assigns waiting requests to connections with free streams.
    ///
    /// It starts as many as fit into the window, and at least one, so that slow hosts cannot starve other hosts by
    /// filling the window.
    ///
    /// - Returns: whether the remaining requests need another connection.
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

    /// Opens a connection for the first waiting request.
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

    /// Removes ended connections and takes back the requests that they did not send.
    ///
    /// If a connection was never usable and no other accepts requests, all waiting requests fail with the same error.
    /// Otherwise each of them would fail in the same way, one after another.
    ///
    /// - Returns: whether there was anything to remove or to take back.
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

    /// Returns the time at which another connection may be tried for the waiting requests, if none may be tried now.
    func restEnds(after now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        guard isWaiting, let restUntil, now < restUntil else { return nil }
        return restUntil
    }

    /// Abandons the waiting requests.
    func abandonWaiting(_ reason: AbortReason, where isMeant: (TransferBatch) -> Bool = { _ in true }) {
        guard !queue.isEmpty else { return }
        let waiting = queue.take(queue.count)
        queue = Queue(waiting.filter { !isMeant($0.batch) })
        for queued in waiting where isMeant(queued.batch) {
            queued.batch.settle(queued.index, .notSent(reason.error(for: queued.request)))
        }
    }

    /// Abandons the requests in flight.
    func abandonInFlight(_ reason: AbortReason, where isMeant: (TransferBatch) -> Bool = { _ in true }) {
        for connection in connections { connection.abandon(where: isMeant) { reason.error(for: $0) } }
    }

    private func wantsConnection(now: ContinuousClock.Instant) -> Bool {
        if let restUntil, now < restUntil { return false }
        let usable = connections.filter { !$0.isRetiring && !$0.hasEnded }
        // A silent connection with a pending ping is worth waiting for, and so is a connection that warms up.
        return usable.count < tools.options.maxConnectionsPerHost && usable.allSatisfy(\.isBusy)
    }
}

/// The hosts that a transport currently uses, and the limit on its connections.
///
/// Confined to the loop's thread.
struct PeerList {
    private let tools: ConnectionContext
    private var byDestination: [Destination: Peer] = [:]
    private(set) var all: [Peer] = []
    private var turn = 0

    /// The peer of the latest request, because most requests go to the same host as the previous one.
    private var latest: (url: String, peer: Peer)?

    init(_ tools: ConnectionContext) { self.tools = tools }

    var connections: some Sequence<PeerConnection> { all.lazy.flatMap(\.connections) }
    var inFlight: Int { all.reduce(0) { $0 + $1.inFlight } }

    func find(_ destination: Destination) -> Peer? { byDestination[destination] }

    /// Returns the peer for `request`; throws for a request that must not be sent.
    mutating func peer(for request: TransferRequest) throws(TransferError) -> Peer {
        guard request.method != .get || request.body.isEmpty else {
            throw TransferError.refusal(of: request, "a GET must not have a body")
        }
        if let latest, latest.url == request.url { return latest.peer }
        let destination = try TargetURL(of: request).destination
        let peer = byDestination[destination] ?? add(destination)
        latest = (request.url, peer)
        return peer
    }

    /// Returns all peers, starting with another one each time, so that a slow one does not delay the others.
    mutating func inTurn() -> [Peer] {
        guard all.count > 1 else { return all }
        turn = (turn + 1) % all.count
        return Array(all[turn...] + all[..<turn])
    }

    /// Whether one more connection is allowed; the connection that has been idle the longest is closed for it if
    /// necessary.
    func makeRoom() -> Bool {
        guard connections.reduce(0, { count, _ in count + 1 }) >= tools.options.maxConnections else { return true }
        let idle = connections.compactMap { connection in connection.idleSince.map { (since: $0, connection) } }
        guard let (_, oldest) = idle.min(by: { $0.since < $1.since }) else { return false }
        oldest.release()
        return true
    }

    /// Removes ended connections, and hosts that are no longer used.
    ///
    /// - Returns: whether anything was removed while requests wait that may now have their turn.
    @discardableResult
    mutating func sweep(now: ContinuousClock.Instant) -> Bool {
        let hasChanged = all.reduce(false) { hasChanged, peer in peer.sweep(now: now) || hasChanged }
        if all.contains(where: \.isOver) {
            for peer in all where peer.isOver { byDestination[peer.destination] = nil }
            all.removeAll(where: \.isOver)
            latest = nil
        }
        return hasChanged && all.contains(where: \.isWaiting)
    }

    mutating func removeAll() {
        all = []
        byDestination = [:]
        latest = nil
    }

    private mutating func add(_ destination: Destination) -> Peer {
        let peer = Peer(destination, tools)
        byDestination[destination] = peer
        all.append(peer)
        return peer
    }
}
