import Foundation
import Synchronization

/// The deadlines of connections: for the complete receipt of the next request, or for the complete transfer of the
/// answer.
///
/// libmicrohttpd's own timeout restarts with every byte, so that a client that sends or accepts an occasional byte
/// could occupy its connection for days. With epoll, libmicrohttpd may also miss that a client has gone during a
/// request. The socket of a late connection is shut down, and libmicrohttpd then closes it.
final class ConnectionTable: Sendable {
    private struct Entry {
        let descriptor: Int32
        let peer: PeerAddress?
        /// `nil` while a handler has the request, and while a stream is sent.
        var deadline: ContinuousClock.Instant?
    }

    private struct State {
        /// The entries by the connection's memory address, which is unique while it is open.
        var entries: [UInt: Entry] = [:]
        /// The number of connections from each address; empty if it is not limited.
        var crowds: [PeerAddress: Int] = [:]
    }

    private let state = Mutex(State())
    private let limits: HTTPLimits

    init(limits: HTTPLimits) { self.limits = limits }

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

    /// Records a complete request, whose handler has no time limit.
    func received(_ connection: UInt) { state.withLock { $0.entries[connection]?.deadline = nil } }

    /// Records the start of the answer.
    func sending(_ connection: UInt, isStream: Bool) {
        let deadline = isStream ? nil : ContinuousClock.now.advanced(by: limits.sendTimeout)
        state.withLock { $0.entries[connection]?.deadline = deadline }
    }

    /// Records the end of the answer, after which the next request may begin.
    func answered(_ connection: UInt) {
        state.withLock { $0.entries[connection]?.deadline = .now.advanced(by: limits.receiveTimeout) }
    }

    /// Records the end of a connection before its socket is closed, so that no other file can have a listed descriptor.
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

    var count: Int { state.withLock { $0.entries.count } }
}
