import CNGHTTP2
import Glibc

/// One connection to a peer, from the look-up of its name to its end, with its requests.
///
///     opening ──► open ──► ended
///
/// Confined to the loop's thread. It gets requests only after the peer has announced its limits.
final class PeerConnection {
    private enum Phase {
        case opening(ConnectionOpening)
        case open(FramedConnection)
        case ended
    }

    let destination: Destination
    private let tools: ConnectionContext
    private let openingDeadline: ContinuousClock.Instant
    private var phase: Phase

    /// The exchanges by stream, kept until the stream is closed, because libnghttp2 reads bodies from them.
    private var exchanges: [Int32: HTTP2Exchange] = [:]
    private var carried = 0
    private var earliestDeadline: ContinuousClock.Instant?
    private var pingDeadline: ContinuousClock.Instant?
    private var barrenDeadline: ContinuousClock.Instant?
    private var hasHeardGoodbye = false

    /// Whether requests may be concurrent, because an answer has begun or no warm-up is required.
    private var isWarm: Bool

    /// Whether the connection has answered a ping and has carried nothing since.
    private var isProven = false

    /// Requests on the connection that have no outcome yet.
    private(set) var inFlight = 0
    /// Whether the peer has announced its limits, which makes the connection usable.
    private(set) var isReady = false
    /// Whether the connection ends after its current requests.
    private(set) var isRetiring = false
    /// The reason for the end; `nil` also for a connection that was released locally.
    private(set) var failure: ConnectionFailure?
    /// Whether another connection would probably fail in the same way without having been usable.
    private(set) var isFruitless = false
    /// Requests that the peer rejected unprocessed or that were never sent, and that may use another connection.
    private var returned: [QueuedRequest] = []

    init(to destination: Destination, tools: ConnectionContext, deadline: ContinuousClock.Instant) {
        self.destination = destination
        self.tools = tools
        openingDeadline = deadline
        isWarm = !tools.options.warmsUp
        phase = .opening(ConnectionOpening(to: destination, tools: tools, deadline: deadline))
    }

    /// Whether the connection has ended or has requests to return.
    var needsSweeping: Bool { hasEnded || !returned.isEmpty }

    var hasEnded: Bool { if case .ended = phase { true } else { false } }

    var isLookingUp: Bool { if case .opening(let opening) = phase { opening.isLookingUp } else { false } }

    /// Whether no stream is in use.
    var isIdle: Bool { exchanges.isEmpty }

    /// Whether the connection probably carries as many requests as it can, so that waiting for it would not help soon.
    ///
    /// This is not the case while its first request warms it up.
    var isBusy: Bool { isReady && !isIdle && isWarm }

    /// The time since which an open connection has been idle, judged by the peer's last input; `nil` if it is not idle.
    var idleSince: ContinuousClock.Instant? {
        guard isReady, isIdle, case .open(let frames) = phase else { return nil }
        return frames.lastSign
    }

    /// The event to wait for; `nil` while there is no socket.
    var interest: pollfd? {
        switch phase {
        case .opening(let opening): opening.interest
        case .open(let frames): frames.interest
        case .ended: nil
        }
    }

    /// Whether input is available that `poll` does not report.
    var hasMore: Bool { if case .open(let frames) = phase { frames.hasMore } else { false } }

    /// The time at which the connection needs a turn even if nothing arrives.
    var nextDeadline: ContinuousClock.Instant? {
        switch phase {
        case .opening(let opening): return opening.nextDeadline
        case .open where !isReady: return openingDeadline
        case .open(let frames):
            var soonest = EarliestDeadline(earliestDeadline)
            soonest.consider(pingDeadline)
            soonest.consider(barrenDeadline)
            soonest.consider(frames.blockedSince.map { $0 + tools.options.patience })
            if isIdle { soonest.consider(frames.lastSign + tools.options.maxIdleAge) }
            return soonest.instant
        case .ended: return nil
        }
    }

    /// Receives the addresses.
    func lookedUp(_ answer: NameLookup.Answer, now: ContinuousClock.Instant) {
        guard case .opening(let opening) = phase, opening.isLookingUp else { return }
        if let failure = opening.lookedUp(answer) { return end(failure) }
        turn(now: now)
    }

    /// Performs all work that is possible now.
    func turn(now: ContinuousClock.Instant) {
        if case .opening(let opening) = phase { advance(opening, now: now) }
        guard case .open(let frames) = phase else { return }
        if let failure = frames.receive(now: now) { return end(failure) }
        flush()
    }

    private func advance(_ opening: ConnectionOpening, now: ContinuousClock.Instant) {
        switch opening.advance(now: now) {
        case .pending: break
        case .failed(let failure): end(failure)
        case .done(let tls, let socket):
            guard let frames = FramedConnection(tls, socket, for: self, tools: tools, now: now) else {
                return end(ConnectionFailure(.library, "libnghttp2 has no memory for a session"))
            }
            phase = .open(frames)
        }
    }

    /// Ends connections and requests whose time is over.
    func expire(now: ContinuousClock.Instant) {
        guard let deadline = nextDeadline, deadline <= now else { return }
        guard case .open(let frames) = phase else { return turn(now: now) }
        if let failure = overdue(frames, now: now) { return end(failure) }
        if isIdle, frames.lastSign + tools.options.maxIdleAge <= now { return release() }
        expireRequests(frames, now: now)
        flush()
    }

    /// Returns the failure if a required action of the peer is overdue.
    private func overdue(_ frames: FramedConnection, now: ContinuousClock.Instant) -> ConnectionFailure? {
        guard isReady else { return ConnectionFailure(.timeout, "the peer did not begin HTTP/2 in time") }
        if let pingDeadline, pingDeadline <= now {
            return ConnectionFailure(.connectionLost, "the peer did not answer a ping")
        }
        if let blocked = frames.blockedSince, blocked + tools.options.patience <= now {
            return ConnectionFailure(.connectionLost, "the peer does not read what it is sent")
        }
        guard let deadline = barrenDeadline, deadline <= now else { return nil }
        barrenDeadline = nil
        guard isIdle, frames.allowedStreams == 0 else { return nil }
        isFruitless = true
        return ConnectionFailure(.timeout, "the peer allows no requests")
    }

    private func expireRequests(_ frames: FramedConnection, now: ContinuousClock.Instant) {
        var soonest = EarliestDeadline()
        for (stream, exchange) in exchanges where !exchange.isOver {
            guard exchange.deadline <= now else {
                soonest.consider(exchange.deadline)
                continue
            }
            fail(exchange, .timeout, "no answer in time")
            frames.reset(stream)
            // A connection without any input since then gets no further requests.
            if frames.lastSign < exchange.started { isRetiring = true }
        }
        earliestDeadline = soonest.instant
    }

    /// Whether the connection would accept a request now; a connection that was silent for long is pinged first.
    func hasRoom(now: ContinuousClock.Instant) -> Bool {
        guard isReady, !isRetiring, pingDeadline == nil, case .open(let frames) = phase else { return false }
        let trust = isProven ? max(tools.options.trust, tools.options.patience) : tools.options.trust
        guard !isIdle || now - frames.lastSign <= trust else {
            frames.ping()
            pingDeadline = now + tools.options.patience
            flush()
            return false
        }
        let allowed = min(isWarm ? tools.options.maxConcurrentStreams : 1, frames.allowedStreams)
        if allowed == 0, isIdle, barrenDeadline == nil { barrenDeadline = now + tools.options.patience }
        return exchanges.count < allowed
    }

    /// Submits a request on a stream; it is sent with the next `flush`.
    func submit(_ queued: QueuedRequest, _ fields: RequestFields, now: ContinuousClock.Instant) {
        guard case .open(let frames) = phase else { return returned.append(queued) }
        let exchange = HTTP2Exchange(queued, newConnections: carried == 0 ? 1 : 0, now: now)
        guard let stream = frames.submit(exchange, fields) else {
            isRetiring = true
            return returned.append(queued)
        }
        frames.noteProgress()
        carried += 1
        isProven = false
        inFlight += 1
        exchanges[stream] = exchange
        var soonest = EarliestDeadline(earliestDeadline)
        soonest.consider(exchange.deadline)
        earliestDeadline = soonest.instant
    }

    /// Abandons the selected requests.
    func abandon(where isMeant: (TransferBatch) -> Bool, _ error: (TransferRequest) -> TransferError) {
        guard case .open(let frames) = phase else { return }
        for (stream, exchange) in exchanges where !exchange.isOver && isMeant(exchange.queued.batch) {
            inFlight -= 1
            exchange.fail(error(exchange.queued.request))
            frames.reset(stream)
        }
        flush()
    }

    /// Accepts no further requests; the connection ends after its current ones.
    func retire() {
        guard case .open = phase else { return }
        isRetiring = true
        flush()
    }

    func takeReturned() -> [QueuedRequest] {
        defer { returned = [] }
        return returned
    }

    /// Writes the pending output, and ends the connection if that was the last.
    func flush() {
        guard case .open(let frames) = phase else { return }
        if let failure = frames.flush() { return end(failure) }
        let goodbye = ConnectionFailure(.connectionLost, "the peer said goodbye")
        if frames.isOver { return end(hasHeardGoodbye ? goodbye : FramedConnection.violation) }
        guard isRetiring, inFlight == 0 else { return }
        if hasHeardGoodbye { end(goodbye) } else { release() }
    }

    /// Ends the connection immediately: sent requests have an unknown outcome, the others are returned.
    private func end(_ failure: ConnectionFailure) {
        guard !hasEnded else { return }
        self.failure = failure
        isFruitless = isFruitless || carried == 0
        release()
    }

    /// Ends the connection by a local decision.
    func release() {
        // The session must be released before the exchanges that it reads from.
        phase = .ended
        let lost = failure ?? ConnectionFailure(.closed, "the connection was released")
        for exchange in exchanges.values where !exchange.isOver {
            if exchange.wasSent { fail(exchange, lost.code, lost.reason) } else { giveBack(exchange) }
        }
        exchanges = [:]
    }

    private func fail(_ exchange: HTTP2Exchange, _ code: TransferError.Code, _ reason: String) {
        inFlight -= 1
        exchange.fail(ConnectionFailure(code, reason).error(for: exchange.queued.request, to: destination))
    }

    /// Returns a request that the peer did not process, at most three times.
    private func giveBack(_ exchange: HTTP2Exchange) {
        guard exchange.queued.refusals < 3 else {
            exchange.wasSent = false
            return fail(exchange, .connectionLost, "the peer refused it repeatedly")
        }
        inFlight -= 1
        returned.append(exchange.handBack())
    }
}

// The events that the session's callbacks report. They must not call `flush` or `receive`.
extension PeerConnection {
    func exchange(_ stream: Int32) -> HTTP2Exchange? { exchanges[stream] }

    func receiveSettings() { isReady = true }

    func receiveSignOfLife() {
        pingDeadline = nil
        isProven = true
    }

    /// Stops new requests; the current ones still complete.
    func receiveGoodbye() {
        hasHeardGoodbye = true
        isRetiring = true
    }

    func receiveBody(_ stream: Int32, _ bytes: UnsafeBufferPointer<UInt8>) {
        guard let exchange = exchanges[stream], !exchange.isOver else { return }
        exchange.idleFrames.noteBody()
        noteProgress()
        guard !exchange.answer.takeBody(UnsafeRawBufferPointer(bytes), limit: tools.options.bodyLimit) else { return }
        conclude(exchange, stream)
    }

    func endFrame(_ stream: Int32, isHead: Bool, endsStream: Bool) {
        guard let exchange = exchanges[stream] else { return }
        if isHead {
            exchange.answer.endHead()
            isWarm = true
        }
        if !isHead || exchange.answer.isInterim {
            guard exchange.idleFrames.end(isHead: isHead) || endsStream else { return giveUp(exchange, stream) }
        } else {
            noteProgress()
        }
        if endsStream { conclude(exchange, stream) }
    }

    private func noteProgress() { if case .open(let frames) = phase { frames.noteProgress() } }

    /// Fails a request whose stream is kept busy without an answer.
    private func giveUp(_ exchange: HTTP2Exchange, _ stream: Int32) {
        guard !exchange.isOver, case .open(let frames) = phase else { return }
        fail(exchange, .protocolViolation, "the answer does not come on: too many interim heads or empty frames")
        frames.reset(stream)
    }

    /// Fails a request whose answer has too long a head; libnghttp2 resets the stream.
    func refuseHead(_ exchange: HTTP2Exchange) {
        guard !exchange.isOver else { return }
        fail(exchange, .protocolViolation, "the head of the answer is too long")
    }

    func closeStream(_ stream: Int32, code: UInt32) {
        guard let exchange = exchanges.removeValue(forKey: stream), !exchange.isOver else { return }
        let isRefused = code == bellhop_refused_stream
        // A peer that has begun to answer has processed the request, whatever its error code claims.
        guard exchange.wasSent, !isRefused || exchange.answer.hasBegun else { return giveBack(exchange) }
        guard isRefused || exchange.wasReset else {
            return fail(exchange, .protocolViolation, "the answer is not proper HTTP/2")
        }
        fail(exchange, .connectionLost, "the peer ended the stream (HTTP/2 code \(code))")
    }

    /// Reports the answer.
    ///
    /// The peer may not need the whole body of the request, or the client not the whole body of the answer.
    private func conclude(_ exchange: HTTP2Exchange, _ stream: Int32) {
        guard !exchange.isOver else { return }
        guard let answer = exchange.answer.finished(newConnections: exchange.newConnections) else {
            return fail(exchange, .incompleteAnswer, "the answer ended within its head")
        }
        inFlight -= 1
        exchange.settle(.answered(answer))
        guard answer.isBodyTruncated || !exchange.body.isOver, case .open(let frames) = phase else { return }
        frames.reset(stream)
    }
}
