/// One host and port: the requests that wait for it, and the connections to it.
///
/// Confined to the loop's thread.
final class Peer {
    let destination: Destination
    private let tools: ConnectionTools
    private var queue = RequestQueue()
    private(set) var connections: [PeerConnection] = []

    init(_ destination: Destination, _ tools: ConnectionTools) {
        self.destination = destination
        self.tools = tools
    }

    /// Nothing waits and nothing is connected: it may be forgotten.
    var isOver: Bool { queue.isEmpty && connections.isEmpty }
    var inFlight: Int { connections.reduce(0) { $0 + $1.inFlight } }

    func append(_ request: QueuedRequest) {
        queue.append(request)
    }

    /// Gives waiting requests to connections that have room, at most `room` of them.
    ///
    /// - Returns: a connection that had to be begun for what still waits; its name has to be looked up.
    func startWaiting(
        _ room: inout Int,
        now: ContinuousClock.Instant,
        number: Int,
        fields: (QueuedRequest) -> RequestFields?
    ) -> PeerConnection? {
        var touched: [PeerConnection] = []
        defer { for connection in touched { connection.flush() } }
        while room > 0, let next = queue.first {
            guard let connection = connections.first(where: { $0.hasRoom(now: now) }) else {
                return another(for: next.request, now: now, number: number)
            }
            queue.removeFirst()
            guard let fields = fields(next) else { continue }
            connection.submit(next, fields, now: now)
            room -= 1
            if touched.last !== connection { touched.append(connection) }
        }
        return nil
    }

    /// Takes away connections that have ended, and takes back what they did not send.
    ///
    /// Where a connection never came about and no other is there, everything that waits fails as it did: one by one they
    /// would meet the same end one by one.
    func sweep() {
        for connection in connections {
            let returned = connection.takeReturned()
            if !returned.isEmpty { queue.prepend(returned) }
        }
        let ended = connections.filter(\.hasEnded)
        guard !ended.isEmpty else { return }
        connections.removeAll(where: \.hasEnded)
        guard let failure = ended.last(where: { !$0.isReady })?.failure, connections.isEmpty else { return }
        for queued in queue.remove(where: { _ in true }) {
            queued.batch.settle(queued.index, .notSent(failure.error(for: queued.request, to: destination)))
        }
    }

    /// Gives up what waits and what is on its way.
    func abandon(_ reason: Abandonment, onlyWaiting: Bool = false, where isMeant: (TransferBatch) -> Bool) {
        for queued in queue.remove(where: isMeant) {
            queued.batch.settle(queued.index, .notSent(reason.error(for: queued.request)))
        }
        guard !onlyWaiting else { return }
        for connection in connections { connection.abandon(where: isMeant) { reason.error(for: $0) } }
    }

    private func another(
        for request: TransferRequest,
        now: ContinuousClock.Instant,
        number: Int
    ) -> PeerConnection? {
        let usable = connections.filter { !$0.isRetiring }
        guard usable.count < tools.options.maxConnectionsPerHost, usable.allSatisfy(\.isReady) else { return nil }
        // A silent connection that is being asked whether it lives is worth waiting for.
        guard usable.allSatisfy({ !$0.isIdle }) else { return nil }
        let deadline = now + request.timeouts.connect
        let connection = PeerConnection(number: number, to: destination, tools: tools, deadline: deadline)
        connections.append(connection)
        return connection
    }
}
