import Glibc
import TLS

/// The path to a peer, up to the end of the TLS handshake.
///
///     lookingUp ──► dialing ──► handshake ──► done
///
/// Confined to the loop's thread.
final class ConnectionOpening {
    enum Progress {
        case pending
        case done(TLSConnection, OwnedSocket)
        case failed(ConnectionFailure)
    }

    private enum Phase {
        case lookingUp
        case dialing(SocketDialer)
        case handshake(TLSConnection, OwnedSocket)
    }

    /// The deadline for the whole opening and for the peer's first frame after it.
    let deadline: ContinuousClock.Instant

    private let destination: Destination
    private let tools: ConnectionContext
    private var phase = Phase.lookingUp
    private var wantsToWrite = false

    init(to destination: Destination, tools: ConnectionContext, deadline: ContinuousClock.Instant) {
        self.destination = destination
        self.tools = tools
        self.deadline = deadline
    }

    var isLookingUp: Bool { if case .lookingUp = phase { true } else { false } }

    /// The event to wait for; `nil` while there is no socket.
    var interest: pollfd? {
        switch phase {
        case .lookingUp: nil
        case .dialing(let dialer): dialer.interest
        case .handshake(_, let socket):
            pollfd(fd: socket.descriptor, events: Int16(wantsToWrite ? POLLOUT : POLLIN), revents: 0)
        }
    }

    var nextDeadline: ContinuousClock.Instant {
        guard case .dialing(let dialer) = phase else { return deadline }
        return min(deadline, dialer.attemptDeadline)
    }

    /// Receives the addresses; a returned failure is final.
    func lookedUp(_ answer: NameLookup.Answer) -> ConnectionFailure? {
        guard case .lookingUp = phase else { return nil }
        switch answer {
        case .failed(let words):
            return ConnectionFailure(.nameLookup, words)
        case .found(let addresses):
            guard let dialer = SocketDialer(addresses, policy: tools.options.addressPolicy, deadline: deadline) else {
                return ConnectionFailure(.addressRefused, "its name leads to addresses that are not public")
            }
            phase = .dialing(dialer)
            return nil
        }
    }

    /// Performs all work that is possible now.
    func advance(now: ContinuousClock.Instant) -> Progress {
        if case .dialing(let dialer) = phase, let progress = dial(dialer, now: now) { return progress }
        if case .handshake(let tls, let socket) = phase, let progress = shakeHands(tls, socket) { return progress }
        return now < deadline ? .pending : .failed(ConnectionFailure(.timeout, overdue))
    }

    /// Returns `nil` if the socket is connected.
    private func dial(_ dialer: SocketDialer, now: ContinuousClock.Instant) -> Progress? {
        switch dialer.advance(now: now) {
        case .pending: return .pending
        case .failed(let failure): return .failed(failure)
        case .connected(let socket):
            guard let tls = tools.tls.makeConnection(over: socket.descriptor, to: destination.host) else {
                return .failed(ConnectionFailure(.library, "OpenSSL has no memory for a connection"))
            }
            phase = .handshake(tls, socket)
            return nil
        }
    }

    /// Returns `nil` while the handshake continues.
    private func shakeHands(_ tls: TLSConnection, _ socket: OwnedSocket) -> Progress? {
        switch tls.handshake() {
        case .done: return .done(tls, socket)
        case .needsReading: wantsToWrite = false
        case .needsWriting: wantsToWrite = true
        case .ended:
            switch tls.refusal {
            case .certificate(let words): return .failed(ConnectionFailure(.certificate, words))
            case .noHTTP2: return .failed(ConnectionFailure(.protocolViolation, "the peer does not speak HTTP/2"))
            case .other(let words): return .failed(ConnectionFailure(.tls, "the TLS handshake failed (\(words))"))
            case nil: return .failed(ConnectionFailure(.tls, "the TLS handshake failed"))
            }
        }
        return nil
    }

    private var overdue: String {
        switch phase {
        case .lookingUp: "the resolver did not answer in time"
        case .dialing: "no answer in time"
        case .handshake: "the TLS handshake did not end in time"
        }
    }
}

/// The reason why a connection, or a request on it, has failed.
struct ConnectionFailure {
    let code: TransferError.Code
    let reason: String

    init(_ code: TransferError.Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }

    func error(for request: TransferRequest, to destination: Destination) -> TransferError {
        TransferError(code, "\(request.method.rawValue) to \(destination.endpoint): \(reason); \(code.advice)")
    }
}
