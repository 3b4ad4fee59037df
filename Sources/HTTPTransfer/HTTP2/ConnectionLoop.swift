import Glibc

/// Runs all connections of one transport.
///
/// Thread safety: made by whoever opens the transport, then given to the thread that calls `run`, which alone touches
/// it from there on. Everybody else speaks to `inbox`.
final class ConnectionLoop: @unchecked Sendable {
    private enum Phase {
        case open
        case closing(deadline: ContinuousClock.Instant)
        case ended
    }

    let inbox: TransferInbox

    private let options: HTTP2TransportOptions
    private let tools: ConnectionTools
    private let waker: Waker
    private var phase = Phase.open
    private var peers: [Peer] = []
    private var turn = 0
    private var connectionsBegun = 0
    private var closers: [CheckedContinuation<Void, Never>] = []

    /// What the last request had in common with most others.
    private var latestTarget: (url: String, peer: Peer)?
    private var latestFields: RequestFields?

    init(_ options: HTTP2TransportOptions) throws(TransferError) {
        guard let waker = Waker() else { throw options.refusal("no descriptor for a waker") }
        self.options = options
        self.waker = waker
        tools = try ConnectionTools(options)
        inbox = TransferInbox { waker.wake() }
    }

    /// Works until the transport is closed or abandoned.
    func run() {
        while true {
            let now = ContinuousClock.now
            for message in inbox.drain() { handle(message, now: now) }
            startWaiting(now: now)
            endIfDue(now: now)
            if case .ended = phase { break }
            wait(now: now)
        }
        end()
    }

    private func handle(_ message: TransferInbox.Message, now: ContinuousClock.Instant) {
        switch message {
        case .submit(let batch):
            guard case .open = phase else { return batch.refuseAll(.closed) }
            guard !batch.isCancelled else { return batch.refuseAll(.cancelled) }
            append(batch)
        case .cancel(let batch):
            batch.isCancelled = true
            for peer in peers { peer.abandon(.cancelled) { $0 === batch } }
        case .close(let closer):
            closers.append(closer)
            beginClosing(grace: options.closeGrace)
        case .abandon:
            beginClosing(grace: .zero)
        case .lookedUp(let number, let answer):
            let connection = peers.lazy.flatMap(\.connections).first { $0.number == number }
            connection?.lookedUp(answer, now: now)
        }
    }

    private func append(_ batch: TransferBatch) {
        for (index, request) in batch.requests.enumerated() {
            do throws(TransferError) {
                try peer(for: request).append(QueuedRequest(batch: batch, index: index))
            } catch {
                batch.settle(index, .notSent(error))
            }
        }
    }

    private func peer(for request: TransferRequest) throws(TransferError) -> Peer {
        guard request.method != .get || request.body.isEmpty else { throw Self.refusal(request, "a GET has no body") }
        if let latestTarget, latestTarget.url == request.url { return latestTarget.peer }
        guard let target = TargetURL(request.url) else {
            throw Self.refusal(request, "the URL is no https URL in visible ASCII")
        }
        let peer = peers.first { $0.destination == target.destination } ?? Peer(target.destination, tools)
        if !peers.contains(where: { $0 === peer }) { peers.append(peer) }
        latestTarget = (request.url, peer)
        return peer
    }

    /// The hosts take turns, so that one that is slow does not hold up the others.
    private func startWaiting(now: ContinuousClock.Instant) {
        for peer in peers { peer.sweep() }
        var room = options.window - peers.reduce(0) { $0 + $1.inFlight }
        turn += 1
        for offset in peers.indices {
            let peer = peers[(turn + offset) % peers.count]
            let begun = peer.startWaiting(&room, now: now, number: connectionsBegun) { fields(for: $0) }
            if let begun { lookUp(begun, now: now) }
        }
        for peer in peers { peer.sweep() }
        guard peers.contains(where: \.isOver) else { return }
        peers.removeAll(where: \.isOver)
        latestTarget = nil
    }

    private func lookUp(_ connection: PeerConnection, now: ContinuousClock.Instant) {
        connectionsBegun += 1
        if let answer = NameLookup.literal(connection.destination) { return connection.lookedUp(answer, now: now) }
        let number = connection.number
        NameLookup.start(connection.destination) { [inbox] in inbox.post(.lookedUp(number: number, $0)) }
    }

    /// Nil where the request must not be sent; it is told so.
    private func fields(for queued: QueuedRequest) -> RequestFields? {
        let request = queued.request
        if let latestFields, latestFields.fit(request) { return latestFields }
        do throws(TransferError) {
            guard let target = TargetURL(request.url) else { throw Self.refusal(request, "the URL is no https URL") }
            let fields = try RequestFields(request, to: target, userAgent: options.userAgent)
            latestFields = fields
            return fields
        } catch {
            queued.batch.settle(queued.index, .notSent(error))
            return nil
        }
    }

    private func beginClosing(grace: Duration) {
        guard case .open = phase else { return }
        for peer in peers { peer.abandon(.closed, onlyWaiting: true) { _ in true } }
        phase = .closing(deadline: .now + grace)
    }

    private func endIfDue(now: ContinuousClock.Instant) {
        guard case .closing(let deadline) = phase else { return }
        guard deadline <= now || peers.allSatisfy({ $0.inFlight == 0 }) else { return }
        for peer in peers { peer.abandon(.closed) { _ in true } }
        phase = .ended
    }

    /// Sleeps until something arrives or is due, and works it off.
    private func wait(now: ContinuousClock.Instant) {
        var entries = [pollfd(fd: waker.descriptor, events: Int16(POLLIN), revents: 0)]
        var watched: [PeerConnection] = []
        for connection in peers.lazy.flatMap(\.connections) {
            guard let entry = connection.interest else { continue }
            entries.append(entry)
            watched.append(connection)
        }
        guard poll(&entries, nfds_t(entries.count), milliseconds(until: nextDeadline, now: now)) >= 0 else { return }
        let now = ContinuousClock.now
        if entries[0].revents != 0 { waker.hush() }
        for (entry, connection) in zip(entries.dropFirst(), watched) where entry.revents != 0 {
            connection.turn(now: now)
        }
        for connection in peers.lazy.flatMap(\.connections) { connection.expire(now: now) }
    }

    private var nextDeadline: ContinuousClock.Instant? {
        var soonest: ContinuousClock.Instant?
        if case .closing(let deadline) = phase { soonest = deadline }
        for connection in peers.lazy.flatMap(\.connections) {
            guard let deadline = connection.nextDeadline else { continue }
            soonest = soonest.map { min($0, deadline) } ?? deadline
        }
        return soonest
    }

    /// Rounded up, so that the loop does not spin through the last millisecond before a deadline; at most a minute.
    private func milliseconds(until deadline: ContinuousClock.Instant?, now: ContinuousClock.Instant) -> CInt {
        guard let deadline else { return 60_000 }
        let left = min(max(deadline - now, .zero), .seconds(60))
        return CInt(left / .milliseconds(1)) + 1
    }

    /// Releases the connections, then tells everybody who still waits.
    private func end() {
        let unread = inbox.end()
        peers = []
        for message in unread {
            switch message {
            case .submit(let batch): batch.refuseAll(.closed)
            case .close(let closer): closers.append(closer)
            case .cancel, .abandon, .lookedUp: break
            }
        }
        for closer in closers { closer.resume() }
    }

    private static func refusal(_ request: TransferRequest, _ reason: String) -> TransferError {
        let host = TargetURL(request.url)?.destination.endpoint ?? "an unreadable URL"
        return TransferError(
            .invalidRequest,
            "\(request.method.rawValue) to \(host) refused before sending: \(reason)"
        )
    }
}
