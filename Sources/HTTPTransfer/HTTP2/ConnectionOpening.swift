import Glibc
import TLS

/// The way to a peer, up to the end of the TLS handshake.
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

    /// Of the whole way, and of the peer's first word after it.
    let deadline: ContinuousClock.Instant

    private let destination: Destination
    private let tools: ConnectionTools
    private var phase = Phase.lookingUp
    private var wantsToWrite = false

    init(to destination: Destination, tools: ConnectionTools, deadline: ContinuousClock.Instant) {
        self.destination = destination
        self.tools = tools
        self.deadline = deadline
    }

    var isLookingUp: Bool {
        if case .lookingUp = phase { true } else { false }
    }

    /// What to wait for; nil while there is no socket.
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

    /// The addresses have come; a failure is the end.
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

    /// Does whatever can be done now.
    func advance(now: ContinuousClock.Instant) -> Progress {
        if case .dialing(let dialer) = phase, let progress = dial(dialer, now: now) { return progress }
        if case .handshake(let tls, let socket) = phase, let progress = shakeHands(tls, socket) { return progress }
        return now < deadline ? .pending : .failed(ConnectionFailure(.timeout, overdue))
    }

    /// Nil once it is connected.
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

    /// Nil while it goes on.
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
