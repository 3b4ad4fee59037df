import ServiceRuntime
import Synchronization

/// What libmicrohttpd's callbacks work on: the exchanges that are being answered, and the way to the handler.
final class ServerCore: Sendable {
    /// An exchange between its arrival and the last byte of its answer.
    private struct Active {
        let exchange: Exchange
        let connection: Connection
        /// True while the handler has it: libmicrohttpd waits, and the connection cannot go away.
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
    /// Bytes of bodies that may still be kept.
    private let bodies: Mutex<Int>

    init(limits: HTTPLimits, admission: HTTPAdmission? = nil, handler: @escaping HTTPHandler) {
        self.limits = limits
        self.admission = admission
        self.handler = handler
        bodies = Mutex(limits.allBodiesBytes)
        connections = ConnectionTable(limits: limits)
    }

    /// The request has arrived whole: suspends its connection and hands it to the handler.
    func begin(_ exchange: Exchange, _ request: HTTPRequest, on connection: Connection) {
        let identity = ObjectIdentifier(exchange)
        let isOpen = state.withLock { state in
            // Under the lock: once the server stops, no connection may be suspended any more.
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

    /// The answer is about to be handed to libmicrohttpd: its stream, if it is one, is known from here on.
    func makeStream(of response: HTTPResponse, for exchange: Exchange, on connection: Connection) -> StreamBody? {
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

    /// Counts bytes of a body that are to be kept; false if all bodies together would exceed their bound.
    func holdBody(_ bytes: Int, of exchange: Exchange) -> Bool {
        let isWithinBounds = bodies.withLock { left in
            guard bytes <= left else { return false }
            left -= bytes
            return true
        }
        if isWithinBounds { exchange.heldBytes.add(bytes, ordering: .relaxed) }
        return isWithinBounds
    }

    /// The body of an exchange is no longer kept.
    func releaseBody(of exchange: Exchange) {
        let bytes = exchange.heldBytes.exchange(0, ordering: .relaxed)
        if bytes > 0 { bodies.withLock { $0 += bytes } }
    }

    /// The answer is sent, or its connection broke.
    func completed(_ exchange: Exchange) {
        releaseBody(of: exchange)
        state.withLock { $0.active[ObjectIdentifier(exchange)] = nil }
    }

    /// From here on requests are refused; streams end; what handlers have is still answered.
    func stopAccepting() {
        let streams = state.withLock { state in
            state.isStopping = true
            return state.active.values.compactMap(\.stream)
        }
        for stream in streams {
            stream.end()
        }
    }

    /// Waits until no exchange is left, at most for `patience`.
    func waitUntilIdle(_ patience: Duration) async {
        let deadline = ContinuousClock.now.advanced(by: patience)
        while activeCount > 0, ContinuousClock.now < deadline {
            try? await Task.sleep(for: .milliseconds(5))
        }
    }

    /// Answers with 503 in place of every handler that is not done, and cancels it.
    ///
    /// Afterwards nothing is suspended, which libmicrohttpd demands before it is stopped.
    func abandonHandlers() {
        let tasks = state.withLock { state in
            let late = state.active.filter(\.value.isSuspended)
            for identity in late.keys {
                answer(identity, Self.stopping, &state)
            }
            return late.values.compactMap(\.task)
        }
        for task in tasks {
            task.cancel()
        }
    }

    /// Exchanges that are being answered.
    var activeCount: Int {
        state.withLock { $0.active.count }
    }

    /// Keeps the answer and wakes its connection; the first answer counts.
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
