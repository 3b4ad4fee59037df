import ServiceRuntime
import Synchronization

/// The state of libmicrohttpd's callbacks: the active exchanges and the handler.
final class ServerCore: Sendable {
    /// An exchange between its arrival and the last byte of its answer.
    private struct Active {
        let exchange: ServerExchange
        let connection: ClientConnection
        /// Whether the handler has it; libmicrohttpd then waits, and the connection cannot end.
        var isSuspended: Bool
        var task: Task<Void, Never>?
        var stream: StreamBody?
    }

    private struct State {
        var isStopping = false
        var active: [ObjectIdentifier: Active] = [:]
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
        let identity = ObjectIdentifier(exchange)
        let isOpen = state.withLock { state in
            // Under the lock: after the server stops, no further connection may be suspended.
            guard !state.isStopping else { return false }
            connection.suspend()
            state.active[identity] = Active(exchange: exchange, connection: connection, isSuspended: true)
            return true
        }
        guard isOpen else {
            exchange.phase.withLock { $0 = .answered(Self.stopping) }
            return
        }
        let task = Task {
            let response = await handler(request)
            state.withLock { answer(identity, response, &$0) }
        }
        state.withLock { $0.active[identity]?.task = task }
    }

    /// Creates the stream of an answer, if it is one, before the answer is passed to libmicrohttpd.
    func makeStream(of response: HTTPResponse, for exchange: ServerExchange, on connection: ClientConnection)
        -> StreamBody?
    {
        guard case .stream(let pieces) = response.body else { return nil }
        let stream = StreamBody(pieces, on: connection) { [connections] isDue in
            connections.sending(connection.identity, isStream: !isDue)
        }
        let isStopping = state.withLock { state in
            state.active[ObjectIdentifier(exchange)]?.stream = stream
            return state.isStopping
        }
        if isStopping { stream.end() }
        return stream
    }

    /// Counts bytes of a body to be stored; returns false if all bodies of the budget would exceed its limit.
    func holdBody(_ bytes: Int, of exchange: ServerExchange, within budget: BodyBudget) -> Bool {
        let isWithinBounds = bodies.withLock { held in
            guard bytes <= limits.allBodiesBytes - held[budget, default: 0] else { return false }
            held[budget, default: 0] += bytes
            return true
        }
        if isWithinBounds { exchange.heldBytes.withLock { $0[budget, default: 0] += bytes } }
        return isWithinBounds
    }

    /// Releases the stored body of an exchange.
    func releaseBody(of exchange: ServerExchange) {
        let released = exchange.heldBytes.withLock { held in
            defer { held = [:] }
            return held
        }
        guard !released.isEmpty else { return }
        bodies.withLock { $0.merge(released) { $0 - $1 } }
    }

    /// Removes an exchange whose answer has been sent or whose connection has been lost.
    func completed(_ exchange: ServerExchange) {
        releaseBody(of: exchange)
        state.withLock { $0.active[ObjectIdentifier(exchange)] = nil }
    }

    /// Rejects requests from now on and ends streams; requests in handlers are still answered.
    func stopAccepting() {
        let streams = state.withLock { state in
            state.isStopping = true
            return state.active.values.compactMap(\.stream)
        }
        for stream in streams { stream.end() }
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
        let tasks = state.withLock { state in
            let late = state.active.filter(\.value.isSuspended)
            for identity in late.keys { answer(identity, Self.stopping, &state) }
            return late.values.compactMap(\.task)
        }
        for task in tasks { task.cancel() }
    }

    /// The number of active exchanges.
    var activeCount: Int { state.withLock { $0.active.count } }

    /// Stores the answer and resumes its connection; only the first answer counts.
    private func answer(_ identity: ObjectIdentifier, _ response: HTTPResponse, _ state: inout State) {
        guard let active = state.active[identity], active.isSuspended else { return }
        state.active[identity]?.isSuspended = false
        active.exchange.phase.withLock { $0 = .answered(response) }
        active.connection.resume()
    }

    private static let stopping: HTTPResponse = {
        var response = HTTPResponse.failure(503, code: "stopping", message: "shutting down")
        response.headers["Connection"] = "close"
        return response
    }()
}
