import Foundation
import Synchronization

/// A TCP relay on a separate loopback port, for breaking the connection between a client and its server on purpose.
///
/// Faults apply to every connection through it, immediately and until they are switched off. `loseReply` and
/// `loseRequest` apply once, to the first connection whose client sends the marker.
///
/// Thread safety: every method may be called from any thread; one thread accepts, two more relay each connection.
package final class TCPProxy: Sendable {
    /// The port on 127.0.0.1 to which clients connect.
    package let port: Int

    private let host: String
    private let serverPort: Int
    private let listener: Int32
    private let state = Mutex(State())

    private struct State {
        var faults = ProxyFaults()
        var relays: [ProxyRelay] = []
        var accepted = 0
        var swallowed = 0
        var stopped = false
    }

    /// Listens immediately; each client's connection gets a separate connection to `host`:`port`.
    package init(to host: String, _ port: Int) throws {
        self.host = host
        self.serverPort = port
        (listener, self.port) = try ProxySocket.listenOnLoopback()
        Thread.detachNewThread { [weak self, listener] in
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0, let self else {
                    if client >= 0 { ProxySocket.reset(client) }
                    close(listener)
                    return
                }
                self.relay(client)
            }
        }
    }

    deinit { stop() }

    /// The number of connections accepted since the start, including refused ones.
    package var connectionCount: Int { state.withLock { $0.accepted } }

    /// The number of bytes that have been lost in black holes since the start, in both directions together.
    package var swallowedBytes: Int { state.withLock { $0.swallowed } }

    /// Returns `url` with the proxy's host and port; user, password, path and query are kept.
    package func url(replacingHostOf url: String) -> String {
        guard var parts = URLComponents(string: url) else { return url }
        parts.host = "127.0.0.1"
        parts.port = port
        return parts.string ?? url
    }

    /// Ends all current connections on both sides; new ones are accepted.
    package func cutAll() {
        for relay in state.withLock({ $0.relays }) { relay.cut() }
    }

    /// While on, discards bytes in both directions without an error, like a peer that has vanished.
    ///
    /// A connection that has lost bytes stays dead after this is switched off; only new ones work.
    package func blackHole(_ on: Bool) {
        let relays = state.withLock {
            $0.faults.blackHole = on
            return $0.relays
        }
        guard on else { return }
        for relay in relays { relay.swallow() }
    }

    /// While on, new connections are reset immediately after they are accepted.
    package func refuse(_ on: Bool) {
        state.withLock { $0.faults.refuse = on }
    }

    /// Passes the client's bytes up to and including `marker`, then withholds the server's next answer and cuts.
    ///
    /// The server has acted, and the client can never learn it. With `refusing`, new connections are reset from then
    /// on.
    package func loseReply(whenClientSends marker: [UInt8], refusing: Bool = false) {
        state.withLock { state in
            state.faults.loseReplyMarker = marker
            state.faults.refusesAfterLostReply = refusing
        }
    }

    /// Cuts the connection instead of passing the bytes with `marker`, which the server never receives.
    package func loseRequest(whenClientSends marker: [UInt8]) {
        state.withLock { $0.faults.loseRequestMarker = marker }
    }

    /// Withholds the one piece of the server's output that contains `marker` from its client; the connection continues.
    ///
    /// It suits servers that write whole messages.
    package func loseAnswer(whenServerSends marker: [UInt8]) {
        state.withLock { $0.faults.loseAnswerMarker = marker }
    }

    /// Closes the listener and every connection.
    package func stop() {
        let relays = state.withLock { state -> [ProxyRelay]? in
            guard !state.stopped else { return nil }
            state.stopped = true
            defer { state.relays = [] }
            return state.relays
        }
        guard let relays else { return }
        // Wakes the thread in accept(2), which then closes the listener.
        shutdown(listener, Int32(SHUT_RDWR))
        for relay in relays { relay.cut() }
    }

    private func relay(_ client: Int32) {
        let faults = state.withLock { state -> ProxyFaults in
            state.accepted += 1
            return state.faults
        }
        guard !faults.refuse, let server = ProxySocket.connect(host, serverPort) else {
            return ProxySocket.reset(client)
        }
        let relay = ProxyRelay(
            client: client,
            server: server,
            swallowing: faults.blackHole,
            judge: { [weak self] bytes in self?.verdict(on: bytes) ?? .pass },
            loses: { [weak self] bytes in self?.losesAnswer(bytes) ?? false },
            swallowed: { [weak self] count in self?.state.withLock { $0.swallowed += count } }
        )
        let welcome = state.withLock { state -> Bool in
            state.relays.removeAll { $0.isOver }
            guard !state.stopped else { return false }
            state.relays.append(relay)
            return true
        }
        relay.start()
        if !welcome { relay.cut() }
    }

    private func losesAnswer(_ bytes: [UInt8]) -> Bool {
        state.withLock { state in
            guard let marker = state.faults.loseAnswerMarker, bytes.holds(marker) else { return false }
            state.faults.loseAnswerMarker = nil
            return true
        }
    }

    private func verdict(on bytes: [UInt8]) -> ProxyVerdict {
        state.withLock { state in
            if let marker = state.faults.loseRequestMarker, bytes.holds(marker) {
                state.faults.loseRequestMarker = nil
                return .cut
            }
            if let marker = state.faults.loseReplyMarker, bytes.holds(marker) {
                state.faults.loseReplyMarker = nil
                state.faults.refuse = state.faults.refuse || state.faults.refusesAfterLostReply
                return .passAndCutAtReply
            }
            return .pass
        }
    }
}

/// The faults to produce, with their conditions.
struct ProxyFaults: Sendable {
    var blackHole = false
    var refuse = false
    var loseReplyMarker: [UInt8]?
    var refusesAfterLostReply = false
    var loseRequestMarker: [UInt8]?
    var loseAnswerMarker: [UInt8]?
}

/// The treatment of a piece of the client's output.
enum ProxyVerdict: Sendable {
    case pass, passAndCutAtReply, cut
}

extension [UInt8] {
    /// Whether `marker` occurs in one piece.
    ///
    /// Clients send short requests in one write, so that pieces are not joined.
    fileprivate func holds(_ marker: [UInt8]) -> Bool {
        guard let first = marker.first, count >= marker.count else { return false }
        return indices.dropLast(marker.count - 1).contains { start in
            self[start] == first && self[start..<start + marker.count].elementsEqual(marker)
        }
    }
}
