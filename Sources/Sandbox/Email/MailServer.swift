import Glibc
import HTTPServer
import ServiceRuntime
import Synchronization

/// A mail server on two ports, one with STARTTLS and one with TLS from the start, with one thread per client.
///
/// It runs from `start` until `stop`, even if no reference to it remains.
final class MailServer: Sendable {
    private struct State {
        var isStopping = false
        var accepted: UInt64 = 0
        /// The open sockets.
        ///
        /// A socket is closed only after it has been removed from here.
        var sockets: [UInt64: Int32] = [:]
        /// Whether both ports are free again.
        var hasLeftPort = false
    }

    /// The address for STARTTLS, with the real port.
    let address: ListenAddress
    /// The address for TLS from the start, with the real port.
    let secureAddress: ListenAddress
    private let office: MailServerState
    private let poller: Poller
    private let state = Mutex(State())

    /// The maximum number of clients; further clients are rejected.
    private static let mostClients = 256

    static func start(_ plain: ListeningSocket, _ secure: ListeningSocket, _ office: MailServerState)
        throws(SandboxError)
        -> MailServer
    {
        let server = try MailServer(plain, secure, office)
        NativeThread.start(named: "smtp-server") { server.accept(plain, secure) }
        return server
    }

    private init(_ plain: ListeningSocket, _ secure: ListeningSocket, _ office: MailServerState) throws(SandboxError) {
        ProcessSignal.ignoreBrokenPipes()
        address = plain.address
        secureAddress = secure.address
        self.office = office
        poller = try Poller()
        guard poller.add(plain.descriptor, key: 0), poller.add(secure.descriptor, key: 1) else {
            throw SandboxError(.resources, attempted: "listening", cameBack: String(cString: strerror(errno)))
        }
    }

    /// Accepts no new clients, gives active dialogues at most `grace` to end, and cuts off the others.
    func stop(grace: Duration = .seconds(5)) async {
        state.withLock { $0.isStopping = true }
        poller.wake()
        let deadline = ContinuousClock.now + grace
        while !isDeserted, ContinuousClock.now < deadline { try? await Task.sleep(for: .milliseconds(5)) }
        state.withLock { state in
            for socket in state.sockets.values { shutdown(socket, Int32(SHUT_RDWR)) }
        }
        while !isDeserted { try? await Task.sleep(for: .milliseconds(5)) }
    }

    private var isDeserted: Bool { state.withLock { $0.sockets.isEmpty && $0.hasLeftPort } }

    private func accept(_ plain: ListeningSocket, _ secure: ListeningSocket) {
        while !state.withLock(\.isStopping) {
            poller.wait(milliseconds: -1) { key in
                let socket = Glibc.accept(key == 0 ? plain.descriptor : secure.descriptor, nil, nil)
                if socket >= 0 { return serve(socket, isSecure: key == 1) }
                // No descriptors or memory: epoll would report the same client again immediately and indefinitely.
                if errno != EAGAIN { usleep(100_000) }
            }
        }
        poller.remove(plain.descriptor)
        poller.remove(secure.descriptor)
        state.withLock { $0.hasLeftPort = true }
    }

    private func serve(_ socket: Int32, isSecure: Bool) {
        _ = fcntl(socket, F_SETFL, O_NONBLOCK)
        _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
        let number = state.withLock { state -> UInt64? in
            guard state.sockets.count < Self.mostClients, !state.isStopping else { return nil }
            state.accepted += 1
            state.sockets[state.accepted] = socket
            return state.accepted
        }
        guard let number else {
            close(socket)
            return
        }
        NativeThread.start(named: "smtp-client") {
            let link = MailConnection(socket: socket)
            SMTPSession(office: self.office, link: link, connection: number).run(isSecureFromTheStart: isSecure)
            self.state.withLock { $0.sockets[number] = nil }
            close(socket)
        }
    }
}
