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

    init(_ tools: ConnectionContext) {
        self.tools = tools
    }

    var connections: some Sequence<PeerConnection> { all.lazy.flatMap(\.connections) }
    var inFlight: Int { all.reduce(0) { $0 + $1.inFlight } }

    func find(_ destination: Destination) -> Peer? {
        byDestination[destination]
    }

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
