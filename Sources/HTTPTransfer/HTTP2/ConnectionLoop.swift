import Glibc
import ServiceRuntime
import TLS

/// Runs all connections of one transport.
///
/// Thread safety: the loop is created by the thread that opens the transport, and then belongs to the thread that calls
/// `run`. All other threads use only `inbox`.
final class ConnectionLoop: @unchecked Sendable {
    private enum Phase {
        case open
        case closing(deadline: ContinuousClock.Instant)
        case ended
    }

    let inbox: TransferInbox

    private let options: HTTP2TransportOptions
    private let waker: Waker
    private let lookups: NameLookups
    private var peers: PeerList
    private var phase = Phase.open
    private var latestFields: RequestFields?

    init(_ options: HTTP2TransportOptions) throws(TransferError) {
        let waker = Waker()
        guard waker.descriptor >= 0 else { throw options.refusal("no descriptor for a waker") }
        self.options = options
        self.waker = waker
        inbox = TransferInbox { waker.wake() }
        lookups = NameLookups(inbox)
        peers = PeerList(try ConnectionContext(options))
    }

    /// Runs until the transport is closed or abandoned.
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
            for peer in peers.all {
                peer.abandonWaiting(.cancelled) { $0 === batch }
                peer.abandonInFlight(.cancelled) { $0 === batch }
            }
        case .retire:
            for connection in peers.connections { connection.retire() }
        case .close: beginClosing(grace: options.closeGrace)
        case .abandon:
            beginClosing(grace: .zero)
        case .lookedUp(let destination, let answer):
            lookups.end(destination)
            peers.find(destination)?.lookedUp(answer, now: now)
        }
    }

    private func append(_ batch: TransferBatch) {
        for (index, request) in batch.requests.enumerated() {
            do throws(TransferError) {
                try peers.peer(for: request).append(QueuedRequest(batch: batch, index: index))
            } catch {
                batch.settle(index, .notSent(error))
            }
        }
    }

    private func startWaiting(now: ContinuousClock.Instant) {
        peers.sweep(now: now)
        guard case .open = phase else {
            // A connection may have returned requests in the meantime.
            for peer in peers.all { peer.abandonWaiting(.closed) }
            return
        }
        // A connection that ends while it receives a request causes no further wake-up, and other requests may wait for
        // the slots that it occupied.
        repeat { giveTurns(now: now) } while peers.sweep(now: now)
    }

    private func giveTurns(now: ContinuousClock.Instant) {
        var room = options.window - peers.inFlight
        for peer in peers.inTurn() {
            guard peer.startWaiting(&room, now: now, fields: { fields(for: $0) }), peers.makeRoom() else { continue }
            peer.connect(now: now)
        }
        for connection in peers.connections where connection.isLookingUp { lookups.begin(connection.destination) }
    }

    /// Returns `nil` if the request must not be sent; the request is then settled.
    private func fields(for queued: QueuedRequest) -> RequestFields? {
        let request = queued.request
        // A request that a connection returned may have been cancelled in the meantime.
        guard !queued.batch.isCancelled else {
            queued.batch.settle(queued.index, .notSent(AbortReason.cancelled.error(for: request)))
            return nil
        }
        if let latestFields, latestFields.fit(request) { return latestFields }
        do throws(TransferError) {
            let fields = try RequestFields(request, to: try TargetURL(of: request))
            latestFields = fields
            return fields
        } catch {
            queued.batch.settle(queued.index, .notSent(error))
            return nil
        }
    }

    private func beginClosing(grace: Duration) {
        guard case .open = phase else { return }
        phase = .closing(deadline: .now + grace)
    }

    private func endIfDue(now: ContinuousClock.Instant) {
        guard case .closing(let deadline) = phase, deadline <= now || peers.inFlight == 0 else { return }
        for peer in peers.all { peer.abandonInFlight(.closed) }
        phase = .ended
    }

    /// Sleeps until an event arrives or is due, and processes it.
    private func wait(now: ContinuousClock.Instant) {
        var entries = [pollfd(fd: waker.descriptor, events: Int16(POLLIN), revents: 0)]
        var watched: [PeerConnection] = []
        for connection in peers.connections {
            guard let entry = connection.interest else { continue }
            entries.append(entry)
            watched.append(connection)
        }
        let deadline = min(nextDeadline(after: now) ?? now + .seconds(60), now + .seconds(60))
        let patience = watched.contains(where: \.hasMore) ? 0 : (deadline - now).pollMilliseconds
        guard poll(&entries, nfds_t(entries.count), patience) >= 0 else { return }
        let now = ContinuousClock.now
        if entries[0].revents != 0 { waker.hush() }
        for (entry, connection) in zip(entries.dropFirst(), watched) where entry.revents != 0 || connection.hasMore {
            connection.turn(now: now)
        }
        for connection in peers.connections { connection.expire(now: now) }
    }

    private func nextDeadline(after now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        var soonest = EarliestDeadline()
        if case .closing(let deadline) = phase { soonest.consider(deadline) }
        for connection in peers.connections { soonest.consider(connection.nextDeadline) }
        for peer in peers.all { soonest.consider(peer.restEnds(after: now)) }
        return soonest.instant
    }

    /// Releases the connections, then settles all requests that still wait.
    private func end() {
        let unread = inbox.end()
        peers.removeAll()
        for message in unread { if case .submit(let batch) = message { batch.refuseAll(.closed) } }
        inbox.completion.complete()
    }
}

/// The resources that all connections of a loop share.
///
/// Confined to the loop's thread.
final class ConnectionContext {
    let options: HTTP2TransportOptions
    let tls: TLSClientContext
    let callbacks: ClientCallbacks

    /// A buffer for one TLS record.
    let readBuffer: UnsafeMutableRawBufferPointer

    init(_ options: HTTP2TransportOptions) throws(TransferError) {
        self.options = options
        do throws(TLSError) {
            tls = try TLSClientContext(authoritiesFile: options.authoritiesFile)
        } catch {
            throw options.refusal(error.text)
        }
        guard let callbacks = ClientCallbacks() else { throw options.refusal("libnghttp2 has no memory") }
        self.callbacks = callbacks
        readBuffer = .allocate(byteCount: 16 * 1024, alignment: 16)
    }

    deinit { readBuffer.deallocate() }
}

/// The earliest of several optional instants.
struct EarliestDeadline {
    private(set) var instant: ContinuousClock.Instant?

    init(_ instant: ContinuousClock.Instant? = nil) { self.instant = instant }

    mutating func consider(_ other: ContinuousClock.Instant?) {
        guard let other else { return }
        instant = instant.map { min($0, other) } ?? other
    }
}
