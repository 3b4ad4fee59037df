import CNGHTTP2
import Glibc
import TLS

/// One connection to a peer, from the look-up of its name to its end.
///
///     lookingUp ──► dialing ──► handshake ──► open ──► ended
///
/// Confined to the loop's thread. Requests are given to it only once the peer has said how many it takes.
final class PeerConnection {
    /// Why a connection is over.
    struct Failure {
        let code: TransferError.Code
        let reason: String

        func error(for request: TransferRequest, to destination: Destination) -> TransferError {
            TransferError(code, "\(request.method.rawValue) to \(destination.endpoint): \(reason); \(advice)")
        }

        private var advice: String {
            switch code {
            case .nameLookup: "check the host's name and the resolver, or try again"
            case .certificate: "check the authorities that are trusted, the host's name and the client certificate"
            case .addressRefused: "do not try again"
            case .connect, .tls, .timeout: "check the way to the host, or try again"
            default: "try again"
            }
        }
    }

    private enum Phase {
        case lookingUp
        case dialing(SocketDialer)
        case handshake(TLSConnection)
        case open(TLSConnection, session: OpaquePointer)
        case ended
    }

    /// Names it in the answers of look-ups.
    let number: Int
    let destination: Destination
    private let tools: ConnectionTools
    private let openingDeadline: ContinuousClock.Instant
    private var phase = Phase.lookingUp
    private var socket: CInt = -1
    private var wantsToWrite = false
    private var exchanges: [Int32: Exchange] = [:]
    private var carried = 0
    private var outbound: [UInt8] = []
    private var outboundSent = 0
    private var lastSign: ContinuousClock.Instant
    private var pingDeadline: ContinuousClock.Instant?
    private var earliestDeadline: ContinuousClock.Instant?

    /// The peer has told its limits: the connection is of use.
    private(set) var isReady = false
    /// It ends once what it carries has ended.
    private(set) var isRetiring = false
    /// Why it is over, once it is.
    private(set) var failure: Failure?
    /// What the peer refused unprocessed, or what was never sent: it may go another way.
    private(set) var returned: [QueuedRequest] = []

    init(number: Int, to destination: Destination, tools: ConnectionTools, deadline: ContinuousClock.Instant) {
        self.number = number
        self.destination = destination
        self.tools = tools
        openingDeadline = deadline
        lastSign = .now
    }

    deinit {
        close()
    }

    var hasEnded: Bool { failure != nil }
    var isIdle: Bool { exchanges.isEmpty }
    var inFlight: Int { exchanges.count }

    /// What to wait for; nil while there is no socket.
    var interest: pollfd? {
        switch phase {
        case .lookingUp, .ended: nil
        case .dialing(let dialer):
            dialer.descriptor < 0 ? nil : pollfd(fd: dialer.descriptor, events: Int16(POLLOUT), revents: 0)
        case .handshake, .open:
            pollfd(fd: socket, events: Int16(wantsToWrite ? POLLIN | POLLOUT : POLLIN), revents: 0)
        }
    }

    /// When it wants to be looked at again although nothing arrives.
    var nextDeadline: ContinuousClock.Instant? {
        guard isReady else {
            guard case .dialing(let dialer) = phase else { return hasEnded ? nil : openingDeadline }
            return min(openingDeadline, dialer.attemptDeadline)
        }
        let idle = isIdle ? lastSign + tools.options.maxIdleAge : nil
        return [earliestDeadline, pingDeadline, idle].compactMap { $0 }.min()
    }

    /// The addresses have come.
    func lookedUp(_ answer: NameLookup.Answer, now: ContinuousClock.Instant) {
        guard case .lookingUp = phase else { return }
        switch answer {
        case .failed(let words): end(.nameLookup, words)
        case .found(let addresses):
            let dialer = SocketDialer(addresses, policy: tools.options.addressPolicy, deadline: openingDeadline)
            guard !dialer.isEmpty else {
                return end(.addressRefused, "its name leads to addresses that are not public")
            }
            phase = .dialing(dialer)
            turn(now: now)
        }
    }

    /// Does whatever can be done now.
    func turn(now: ContinuousClock.Instant) {
        if case .dialing(let dialer) = phase { dial(dialer, now: now) }
        if case .handshake(let tls) = phase { shakeHands(tls) }
        guard case .open(let tls, let session) = phase else { return }
        receive(tls, session, now: now)
        flush()
    }

    /// Ends what has taken too long.
    func expire(now: ContinuousClock.Instant) {
        guard let deadline = nextDeadline, deadline <= now else { return }
        guard isReady else {
            guard now >= openingDeadline else { return turn(now: now) }
            return end(.timeout, "no connection in time")
        }
        if let pingDeadline, pingDeadline <= now { return end(.connectionLost, "the connection is dead") }
        if isIdle, lastSign + tools.options.maxIdleAge <= now { return end(.connectionLost, "idle for too long") }
        earliestDeadline = nil
        for (stream, exchange) in exchanges where !exchange.isSettled {
            guard exchange.deadline <= now else {
                note(exchange.deadline)
                continue
            }
            exchange.fail(failed(.timeout, "no answer in time", exchange))
            reset(stream)
            // A connection on which nothing at all came since then is not trusted with more.
            if lastSign < exchange.started { isRetiring = true }
        }
        flush()
    }

    /// Whether it would take a request now; one that was silent for long is asked first whether it still lives.
    func hasRoom(now: ContinuousClock.Instant) -> Bool {
        guard isReady, !isRetiring, pingDeadline == nil, case .open(_, let session) = phase else { return false }
        guard !isIdle || now - lastSign <= tools.options.trust else {
            nghttp2_submit_ping(session, bellhop_no_flags, nil)
            pingDeadline = now + .seconds(5)
            flush()
            return false
        }
        let allowed = min(tools.options.maxConcurrentStreams, Int(bellhop_allowed_streams(session)))
        return exchanges.count < allowed
    }

    /// Puts a request on a stream; it leaves with the next `flush`.
    func submit(_ queued: QueuedRequest, _ fields: RequestFields, now: ContinuousClock.Instant) {
        guard case .open(_, let session) = phase else { return returned.append(queued) }
        let exchange = Exchange(queued, newConnections: carried == 0 ? 1 : 0, now: now)
        var source = nghttp2_data_provider()
        source.source.ptr = Unmanaged.passUnretained(exchange).toOpaque()
        source.read_callback = readRequestBody
        let stream = fields.withPairs(bodyLength: exchange.bodyLength) { pairs, count in
            exchange.hasBody
                ? nghttp2_submit_request(session, nil, pairs, count, &source, nil)
                : nghttp2_submit_request(session, nil, pairs, count, nil, nil)
        }
        guard let stream, stream > 0 else {
            // The numbers of streams are used up, or memory is.
            isRetiring = true
            return returned.append(queued)
        }
        carried += 1
        exchanges[stream] = exchange
        note(exchange.deadline)
    }

    /// Gives up the requests that are meant.
    func abandon(where isMeant: (TransferBatch) -> Bool, _ error: (TransferRequest) -> TransferError) {
        for (stream, exchange) in exchanges where !exchange.isSettled && isMeant(exchange.queued.batch) {
            exchange.fail(error(exchange.queued.request))
            reset(stream)
        }
        flush()
    }

    func takeReturned() -> [QueuedRequest] {
        defer { returned = [] }
        return returned
    }

    /// Writes what the session has to say.
    func flush() {
        guard case .open(let tls, let session) = phase else { return }
        wantsToWrite = false
        while true {
            guard collect(session) else { return end(.protocolViolation, "libnghttp2 cannot go on") }
            guard outboundSent < outbound.count else { break }
            let progress = outbound.withUnsafeBytes { tls.write(UnsafeRawBufferPointer(rebasing: $0[outboundSent...])) }
            switch progress {
            case .done(let count): outboundSent += count
            case .needsWriting, .needsReading:
                wantsToWrite = true
                return
            case .ended: return end(.connectionLost, "the connection ended")
            }
        }
        let isOver = nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0
        if isOver || (isRetiring && exchanges.isEmpty) { end(.connectionLost, "the peer said goodbye") }
    }

    /// Ends it now: what was sent has an unknown outcome, the rest is returned.
    func end(_ code: TransferError.Code, _ reason: String) {
        guard failure == nil else { return }
        failure = Failure(code: code, reason: reason)
        close()
        for exchange in exchanges.values where !exchange.isSettled {
            if exchange.wasSent || exchange.queued.batch.isCancelled {
                exchange.fail(failed(code, reason, exchange))
            } else {
                giveBack(exchange)
            }
        }
        exchanges = [:]
    }

    private func close() {
        if case .open(let tls, let session) = phase {
            tls.sayGoodbye()
            nghttp2_session_del(session)
        }
        phase = .ended
        if socket >= 0 { Glibc.close(socket) }
        socket = -1
    }

    private func dial(_ dialer: SocketDialer, now: ContinuousClock.Instant) {
        switch dialer.advance(now: now) {
        case .pending: break
        case .failed(let code, let words): end(code, words)
        case .connected(let descriptor):
            socket = descriptor
            guard let tls = tools.tls.makeConnection(over: descriptor, to: destination.host) else {
                return end(.library, "OpenSSL has no memory for a connection")
            }
            phase = .handshake(tls)
        }
    }

    private func shakeHands(_ tls: TLSConnection) {
        switch tls.handshake() {
        case .needsReading: wantsToWrite = false
        case .needsWriting: wantsToWrite = true
        case .ended: refuse(tls.refusal)
        case .done:
            guard let session = tools.callbacks.makeSession(for: self) else {
                return end(.library, "libnghttp2 has no memory for a session")
            }
            phase = .open(tls, session: session)
            let window: Int32 = 1 << 20
            guard bellhop_submit_client_settings(session, UInt32(window), 64 * 1024) == 0 else {
                return end(.library, "libnghttp2 has no memory for a session")
            }
            nghttp2_session_set_local_window_size(session, bellhop_no_flags, 0, 16 * window)
        }
    }

    private func refuse(_ refusal: TLSConnection.Refusal?) {
        switch refusal {
        case .certificate(let words): end(.certificate, words)
        case .noHTTP2: end(.protocolViolation, "the peer does not speak HTTP/2")
        case .other(let words): end(.tls, "the TLS handshake failed (\(words))")
        case nil: end(.tls, "the TLS handshake failed")
        }
    }

    /// Reads at most half a megabyte, so that other connections have their turn.
    private func receive(_ tls: TLSConnection, _ session: OpaquePointer, now: ContinuousClock.Instant) {
        for _ in 0..<32 {
            guard !hasEnded else { return }
            switch tls.read(into: tools.readBuffer) {
            case .needsReading, .needsWriting: return
            case .ended: return end(.connectionLost, "the connection ended")
            case .done(let count):
                lastSign = now
                let start = tools.readBuffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
                guard nghttp2_session_mem_recv(session, start, count) >= 0 else {
                    return end(.protocolViolation, "what the peer sent is not proper HTTP/2")
                }
            }
        }
    }

    /// Fills one TLS record, so that the frames of many requests share it.
    private func collect(_ session: OpaquePointer) -> Bool {
        guard outboundSent == outbound.count else { return true }
        outbound.removeAll(keepingCapacity: true)
        outboundSent = 0
        while outbound.count < 16 * 1024 {
            var start: UnsafePointer<UInt8>?
            let count = nghttp2_session_mem_send(session, &start)
            guard count > 0 else { return count == 0 }
            outbound.append(contentsOf: UnsafeBufferPointer(start: start, count: count))
        }
        return true
    }

    private func note(_ deadline: ContinuousClock.Instant) {
        earliestDeadline = earliestDeadline.map { min($0, deadline) } ?? deadline
    }

    private func reset(_ stream: Int32) {
        guard case .open(_, let session) = phase else { return }
        nghttp2_submit_rst_stream(session, bellhop_no_flags, stream, bellhop_cancel)
    }

    private func failed(_ code: TransferError.Code, _ reason: String, _ exchange: Exchange) -> TransferError {
        Failure(code: code, reason: reason).error(for: exchange.queued.request, to: destination)
    }

    /// Lets a request that the peer did not process go another way, a few times.
    private func giveBack(_ exchange: Exchange) {
        var queued = exchange.queued
        queued.refusals += 1
        guard queued.refusals <= 3 else {
            exchange.settle(.notSent(failed(.connectionLost, "the peer refused it again and again", exchange)))
            return
        }
        returned.append(queued)
    }
}

// What the callbacks of the session tell.
extension PeerConnection {
    func exchange(_ stream: Int32) -> Exchange? {
        exchanges[stream]
    }

    func receiveSettings() {
        isReady = true
    }

    func receiveSignOfLife() {
        pingDeadline = nil
    }

    /// It carries what it has to its end, and nothing more.
    func retire() {
        isRetiring = true
    }

    func receiveBody(_ stream: Int32, _ bytes: UnsafeBufferPointer<UInt8>) {
        guard let exchange = exchanges[stream], !exchange.isSettled else { return }
        guard !exchange.answer.takeBody(bytes, limit: tools.options.bodyLimit) else { return }
        conclude(exchange)
        reset(stream)
    }

    func endFrame(_ stream: Int32, isHead: Bool, endsStream: Bool) {
        guard let exchange = exchanges[stream] else { return }
        if isHead { exchange.answer.endHead() }
        if endsStream { conclude(exchange) }
    }

    func closeStream(_ stream: Int32, code: UInt32) {
        guard let exchange = exchanges.removeValue(forKey: stream), !exchange.isSettled else { return }
        guard code != bellhop_refused_stream, exchange.wasSent else { return giveBack(exchange) }
        exchange.fail(failed(.connectionLost, "the peer ended the stream (HTTP/2 code \(code))", exchange))
    }

    private func conclude(_ exchange: Exchange) {
        guard let answer = exchange.answer.finished(newConnections: exchange.newConnections) else {
            return exchange.fail(failed(.incompleteAnswer, "the answer ended within its head", exchange))
        }
        exchange.settle(.answered(answer))
    }
}

/// What all connections of a loop share.
///
/// Confined to the loop's thread.
final class ConnectionTools {
    let options: HTTP2TransportOptions
    let tls: TLSClientContext
    let callbacks: ClientCallbacks
    let readBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 16 * 1024, alignment: 16)

    init(_ options: HTTP2TransportOptions) throws(TransferError) {
        self.options = options
        do throws(TLSError) {
            tls = try TLSClientContext(authoritiesFile: options.authoritiesFile, identity: options.clientCertificate)
        } catch {
            throw options.refusal(error.text)
        }
        guard let callbacks = ClientCallbacks() else { throw options.refusal("libnghttp2 has no memory") }
        self.callbacks = callbacks
    }

    deinit {
        readBuffer.deallocate()
    }
}
