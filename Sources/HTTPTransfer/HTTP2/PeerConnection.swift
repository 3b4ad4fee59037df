import CNGHTTP2
import Glibc

/// One connection to a peer, from the look-up of its name to its end, with the requests on it.
///
///     opening ──► open ──► ended
///
/// Confined to the loop's thread. Requests are given to it only once the peer has said how many it takes.
final class PeerConnection {
    private enum Phase {
        case opening(ConnectionOpening)
        case open(FramedConnection)
        case ended
    }

    let destination: Destination
    private let tools: ConnectionTools
    private let openingDeadline: ContinuousClock.Instant
    private var phase: Phase

    /// By stream, until the stream is closed: libnghttp2 reads bodies from them.
    private var exchanges: [Int32: Exchange] = [:]
    private var carried = 0
    private var earliestDeadline: ContinuousClock.Instant?
    private var pingDeadline: ContinuousClock.Instant?
    private var barrenDeadline: ContinuousClock.Instant?
    private var hasHeardGoodbye = false

    /// An answer has begun on it, or none is waited for: requests may go side by side.
    private var isWarm: Bool

    /// It has answered a ping, and has carried nothing since.
    private var isProven = false

    /// Requests on it that have no outcome yet.
    private(set) var inFlight = 0
    /// The peer has told its limits: the connection is of use.
    private(set) var isReady = false
    /// It ends once what it carries has ended.
    private(set) var isRetiring = false
    /// Why it is over; nil also for one that we have released ourselves.
    private(set) var failure: ConnectionFailure?
    /// Another would most likely end as it did, without having been of use.
    private(set) var isFruitless = false
    /// What the peer refused unprocessed, or what was never sent: it may go another way.
    private var returned: [QueuedRequest] = []

    init(to destination: Destination, tools: ConnectionTools, deadline: ContinuousClock.Instant) {
        self.destination = destination
        self.tools = tools
        openingDeadline = deadline
        isWarm = !tools.options.warmsUp
        phase = .opening(ConnectionOpening(to: destination, tools: tools, deadline: deadline))
    }

    /// It has ended, or has something to give back.
    var needsSweeping: Bool { hasEnded || !returned.isEmpty }

    var hasEnded: Bool {
        if case .ended = phase { true } else { false }
    }

    var isLookingUp: Bool {
        if case .opening(let opening) = phase { opening.isLookingUp } else { false }
    }

    /// Not a stream is in use.
    var isIdle: Bool { exchanges.isEmpty }

    /// It carries what it can, as far as anybody knows: waiting for it would not help soon.
    ///
    /// Not so while its first request warms it up.
    var isBusy: Bool { isReady && !isIdle && isWarm }

    /// Since when an open connection has been idle, as far as the peer's last sign tells; nil where it is not.
    var idleSince: ContinuousClock.Instant? {
        guard isReady, isIdle, case .open(let frames) = phase else { return nil }
        return frames.lastSign
    }

    /// What to wait for; nil while there is no socket.
    var interest: pollfd? {
        switch phase {
        case .opening(let opening): opening.interest
        case .open(let frames): frames.interest
        case .ended: nil
        }
    }

    /// Bytes have come that `poll` does not know of.
    var hasMore: Bool {
        if case .open(let frames) = phase { frames.hasMore } else { false }
    }

    /// When it wants to be looked at again although nothing arrives.
    var nextDeadline: ContinuousClock.Instant? {
        switch phase {
        case .opening(let opening): return opening.nextDeadline
        case .open where !isReady: return openingDeadline
        case .open(let frames):
            var soonest = Soonest(earliestDeadline)
            soonest.consider(pingDeadline)
            soonest.consider(barrenDeadline)
            soonest.consider(frames.blockedSince.map { $0 + tools.options.patience })
            if isIdle { soonest.consider(frames.lastSign + tools.options.maxIdleAge) }
            return soonest.instant
        case .ended: return nil
        }
    }

    /// The addresses have come.
    func lookedUp(_ answer: NameLookup.Answer, now: ContinuousClock.Instant) {
        guard case .opening(let opening) = phase, opening.isLookingUp else { return }
        if let failure = opening.lookedUp(answer) { return end(failure) }
        turn(now: now)
    }

    /// Does whatever can be done now.
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

    /// Ends what has taken too long.
    func expire(now: ContinuousClock.Instant) {
        guard let deadline = nextDeadline, deadline <= now else { return }
        guard case .open(let frames) = phase else { return turn(now: now) }
        if let failure = overdue(frames, now: now) { return end(failure) }
        if isIdle, frames.lastSign + tools.options.maxIdleAge <= now { return release() }
        expireRequests(frames, now: now)
        flush()
    }

    /// What the peer owes us for too long.
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
        var soonest = Soonest()
        for (stream, exchange) in exchanges where !exchange.isOver {
            guard exchange.deadline <= now else {
                soonest.consider(exchange.deadline)
                continue
            }
            fail(exchange, .timeout, "no answer in time")
            frames.reset(stream)
            // A connection on which nothing at all came since then is not trusted with more.
            if frames.lastSign < exchange.started { isRetiring = true }
        }
        earliestDeadline = soonest.instant
    }

    /// Whether it would take a request now; one that was silent for long is asked first whether it still lives.
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

    /// Puts a request on a stream; it leaves with the next `flush`.
    func submit(_ queued: QueuedRequest, _ fields: RequestFields, now: ContinuousClock.Instant) {
        guard case .open(let frames) = phase else { return returned.append(queued) }
        let exchange = Exchange(queued, newConnections: carried == 0 ? 1 : 0, now: now)
        guard let stream = frames.submit(exchange, fields) else {
            isRetiring = true
            return returned.append(queued)
        }
        frames.noteProgress()
        carried += 1
        isProven = false
        inFlight += 1
        exchanges[stream] = exchange
        var soonest = Soonest(earliestDeadline)
        soonest.consider(exchange.deadline)
        earliestDeadline = soonest.instant
    }

    /// Gives up the requests that are meant.
    func abandon(where isMeant: (TransferBatch) -> Bool, _ error: (TransferRequest) -> TransferError) {
        guard case .open(let frames) = phase else { return }
        for (stream, exchange) in exchanges where !exchange.isOver && isMeant(exchange.queued.batch) {
            inFlight -= 1
            exchange.fail(error(exchange.queued.request))
            frames.reset(stream)
        }
        flush()
    }

    /// Gives it nothing more: it ends once what it carries has ended.
    func retire() {
        guard case .open = phase else { return }
        isRetiring = true
        flush()
    }

    func takeReturned() -> [QueuedRequest] {
        defer { returned = [] }
        return returned
    }

    /// Writes what there is to say, and ends where that was the last.
    func flush() {
        guard case .open(let frames) = phase else { return }
        if let failure = frames.flush() { return end(failure) }
        let goodbye = ConnectionFailure(.connectionLost, "the peer said goodbye")
        if frames.isOver { return end(hasHeardGoodbye ? goodbye : FramedConnection.violation) }
        guard isRetiring, inFlight == 0 else { return }
        if hasHeardGoodbye { end(goodbye) } else { release() }
    }

    /// Ends it now: what was sent has an unknown outcome, the rest is returned.
    private func end(_ failure: ConnectionFailure) {
        guard !hasEnded else { return }
        self.failure = failure
        isFruitless = isFruitless || carried == 0
        release()
    }

    /// Ends it of our own accord.
    func release() {
        // The session goes before the exchanges that it reads from.
        phase = .ended
        let lost = failure ?? ConnectionFailure(.closed, "the connection was released")
        for exchange in exchanges.values where !exchange.isOver {
            if exchange.wasSent { fail(exchange, lost.code, lost.reason) } else { giveBack(exchange) }
        }
        exchanges = [:]
    }

    private func fail(_ exchange: Exchange, _ code: TransferError.Code, _ reason: String) {
        inFlight -= 1
        exchange.fail(ConnectionFailure(code, reason).error(for: exchange.queued.request, to: destination))
    }

    /// Lets a request that the peer did not process go another way, a few times.
    private func giveBack(_ exchange: Exchange) {
        guard exchange.queued.refusals < 3 else {
            exchange.wasSent = false
            return fail(exchange, .connectionLost, "the peer refused it repeatedly")
        }
        inFlight -= 1
        returned.append(exchange.handBack())
    }
}

// What the callbacks of the session tell. None of them may flush or receive.
extension PeerConnection {
    func exchange(_ stream: Int32) -> Exchange? {
        exchanges[stream]
    }

    func receiveSettings() {
        isReady = true
    }

    func receiveSignOfLife() {
        pingDeadline = nil
        isProven = true
    }

    /// It carries what it has to its end, and nothing more.
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

    private func noteProgress() {
        if case .open(let frames) = phase { frames.noteProgress() }
    }

    /// The peer keeps the stream busy without an answer.
    private func giveUp(_ exchange: Exchange, _ stream: Int32) {
        guard !exchange.isOver, case .open(let frames) = phase else { return }
        fail(exchange, .protocolViolation, "the answer does not come on: too many interim heads or empty frames")
        frames.reset(stream)
    }

    /// The head is longer than any answer's; libnghttp2 resets the stream.
    func refuseHead(_ exchange: Exchange) {
        guard !exchange.isOver else { return }
        fail(exchange, .protocolViolation, "the head of the answer is too long")
    }

    func closeStream(_ stream: Int32, code: UInt32) {
        guard let exchange = exchanges.removeValue(forKey: stream), !exchange.isOver else { return }
        let isRefused = code == bellhop_refused_stream
        // A peer that has begun to answer has processed the request, whatever it says.
        guard exchange.wasSent, !isRefused || exchange.answer.hasBegun else { return giveBack(exchange) }
        guard isRefused || exchange.wasReset else {
            return fail(exchange, .protocolViolation, "the answer is not proper HTTP/2")
        }
        fail(exchange, .connectionLost, "the peer ended the stream (HTTP/2 code \(code))")
    }

    /// The answer is here; the peer may not need all of the request's body, or we not all of the answer's.
    private func conclude(_ exchange: Exchange, _ stream: Int32) {
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
