import ServiceRuntime
import Synchronization

/// The state of libmicrohttpd's callbacks: the active exchanges and the handler.
final class ServerCore: Sendable {
    private struct State {
        var isStopping = false
        /// The exchanges between their arrival and the last byte of their answers.
        var active: [ObjectIdentifier: ServerExchange] = [:]
    }

    let limits: HTTPLimits
    let connections: ConnectionTable
    let admission: HTTPAdmission?
    private let handler: HTTPHandler
    private let state = Mutex(State())
    /// The bytes of bodies that are stored.
    private let bodies = Mutex<[BodyBudget: Int]>([:])

    init(limits: HTTPLimits, admission: HTTPAdmission? = nil, handler: @escaping HTTPHandler) {
        self.limits = limits
        self.admission = admission
        self.handler = handler
        connections = ConnectionTable(limits: limits)
    }

    /// Suspends the connection of a complete request and passes the request to the handler.
    func begin(_ exchange: ServerExchange, _ request: HTTPRequest, on connection: ClientConnection) {
        let isOpen = state.withLock { state in
            // Under the lock: after the server stops, no further connection may be suspended.
            guard !state.isStopping else { return false }
            exchange.suspend(connection)
            state.active[ObjectIdentifier(exchange)] = exchange
            return true
        }
        guard isOpen else {
            exchange.phase.withLock { $0 = .answered(Self.stopping) }
            return
        }
        exchange.handle { [handler] in await handler(request) }
    }

    /// Creates the stream of an answer, if it is one, before the answer is passed to libmicrohttpd.
    func makeStream(of response: HTTPResponse, for exchange: ServerExchange, on connection: ClientConnection)
        -> StreamBody?
    {
        guard case .stream(let pieces) = response.body else { return nil }
        let stream = StreamBody(pieces, on: connection) { [connections] isDue in
            connections.sending(connection.identity, isStream: !isDue)
        }
        exchange.stream.withLock { $0 = stream }
        if state.withLock({ $0.isStopping }) { stream.end() }
        return stream
    }

    /// Counts bytes of a body to be stored; returns false if all bodies of the budget would exceed its limit.
    func holdBody(_ bytes: Int, of exchange: ServerExchange, within budget: BodyBudget) -> Bool {
        let isWithinBounds = bodies.withLock { held in
            guard bytes <= limits.allBodiesBytes - held[budget, default: 0] else { return false }
            held[budget, default: 0] += bytes
            return true
        }
        guard isWithinBounds else { return false }
        exchange.heldBody.withLock { held in
            held = ServerExchange.HeldBody(budget: budget, bytes: (held?.bytes ?? 0) + bytes)
        }
        return true
    }

    /// Releases the stored body of an exchange.
    func releaseBody(of exchange: ServerExchange) {
        guard let released = exchange.heldBody.withLock({ $0.take() }) else { return }
        bodies.withLock { $0[released.budget, default: 0] -= released.bytes }
    }

    /// Removes an exchange whose answer has been sent or whose connection has been lost.
    func completed(_ exchange: ServerExchange) {
        releaseBody(of: exchange)
        state.withLock { $0.active[ObjectIdentifier(exchange)] = nil }
    }

    /// Rejects requests from now on and ends streams; requests in handlers are still answered.
    func stopAccepting() {
        let active = state.withLock { state in
            state.isStopping = true
            return Array(state.active.values)
        }
        for exchange in active { exchange.stream.withLock { $0 }?.end() }
    }

    /// Waits until no exchange is left, at most for `patience`.
    func waitUntilIdle(_ patience: Duration) async {
        let deadline = ContinuousClock.now.advanced(by: patience)
        while activeCount > 0, ContinuousClock.now < deadline {
            try? await Task.sleep(for: .milliseconds(5))
        }
    }

    /// Answers with 503 for every handler that has not finished, and cancels it.
    ///
    /// Afterwards no connection is suspended, which libmicrohttpd requires before it is stopped.
    func abandonHandlers() {
        for exchange in state.withLock({ Array($0.active.values) }) { exchange.abandon(with: Self.stopping) }
    }

    /// The number of active exchanges.
    var activeCount: Int { state.withLock { $0.active.count } }

    private static let stopping: HTTPResponse = {
        var response = HTTPResponse.failure(503, code: "stopping", message: "shutting down")
        response.headers["Connection"] = "close"
        return response
    }()
}
