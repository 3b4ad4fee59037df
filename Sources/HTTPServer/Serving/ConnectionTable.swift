import Foundation
import Synchronization

/// Until when each connection's next request must have arrived whole, or the answer to it have been taken.
///
/// libmicrohttpd's own timeout starts anew with every byte, so that a client that drips or takes one now and then could
/// hold its connection for days. With epoll it may also overlook that a client has gone in the middle of a request. A connection
/// that is late gets its socket shut down; libmicrohttpd then closes it.
final class ConnectionTable: Sendable {
    private struct Entry {
        let descriptor: Int32
        let peer: PeerAddress?
        /// Nil while a handler has the request, and while a stream is sent.
        var deadline: ContinuousClock.Instant?
    }

    private struct State {
        /// By the connection's address, which is unique while it is open.
        var entries: [UInt: Entry] = [:]
        /// How many of them come from each address; empty where any number may.
        var crowds: [PeerAddress: Int] = [:]
    }

    private let state = Mutex(State())
    private let limits: HTTPLimits

    init(limits: HTTPLimits) {
        self.limits = limits
    }

    func opened(_ connection: UInt, descriptor: Int32) {
        let deadline = ContinuousClock.now.advanced(by: limits.receiveTimeout)
        let peer = limits.connectionsPerAddress == nil ? nil : PeerAddress(of: descriptor)
        let count = state.withLock { state in
            state.entries[connection] = Entry(descriptor: descriptor, peer: peer, deadline: deadline)
            guard let peer else { return 0 }
            state.crowds[peer, default: 0] += 1
            return state.crowds[peer] ?? 0
        }
        guard let peer, let most = limits.connectionsPerAddress else { return }
        guard count > most, !limits.manyFrom.contains(where: { $0.contains(peer.address) }) else { return }
        shutdown(descriptor, Int32(SHUT_RDWR))
    }

    /// A whole request is here; the handler may take as long as it takes.
    func received(_ connection: UInt) {
        state.withLock { $0.entries[connection]?.deadline = nil }
    }

    /// The answer is on its way.
    func sending(_ connection: UInt, isStream: Bool) {
        let deadline = isStream ? nil : ContinuousClock.now.advanced(by: limits.sendTimeout)
        state.withLock { $0.entries[connection]?.deadline = deadline }
    }

    /// The answer is sent; the next request may come.
    func answered(_ connection: UInt) {
        state.withLock { $0.entries[connection]?.deadline = .now.advanced(by: limits.receiveTimeout) }
    }

    /// Called before the socket is closed, so that no other file can have its number while it is listed here.
    func closed(_ connection: UInt) {
        state.withLock { state in
            guard let peer = state.entries.removeValue(forKey: connection)?.peer else { return }
            let count = (state.crowds[peer] ?? 1) - 1
            state.crowds[peer] = count > 0 ? count : nil
        }
    }

    func shutDownLate(_ now: ContinuousClock.Instant = .now) {
        state.withLock { state in
            for (connection, entry) in state.entries where entry.deadline.map({ $0 < now }) ?? false {
                shutdown(entry.descriptor, Int32(SHUT_RDWR))
                state.entries[connection]?.deadline = nil
            }
        }
    }

    var count: Int {
        state.withLock { $0.entries.count }
    }
}
