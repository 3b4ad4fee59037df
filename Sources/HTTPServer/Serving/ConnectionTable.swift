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

    /// By the connection's address, which is unique while it is open.
    private let entries = Mutex<[UInt: Entry]>([:])
    /// How many of them come from each address.
    private let crowds = Mutex<[PeerAddress: Int]>([:])
    private let limits: HTTPLimits

    init(limits: HTTPLimits) {
        self.limits = limits
    }

    func opened(_ connection: UInt, descriptor: Int32) {
        let deadline = ContinuousClock.now.advanced(by: limits.receiveTimeout)
        let peer = limits.connectionsPerAddress == nil ? nil : PeerAddress(of: descriptor)
        entries.withLock { $0[connection] = Entry(descriptor: descriptor, peer: peer, deadline: deadline) }
        guard let peer, let most = limits.connectionsPerAddress else { return }
        let count = crowds.withLock { crowds in
            crowds[peer, default: 0] += 1
            return crowds[peer] ?? 0
        }
        guard count > most, !limits.manyFrom.contains(where: { $0.contains(peer.address) }) else { return }
        shutdown(descriptor, Int32(SHUT_RDWR))
    }

    /// A whole request is here; the handler may take as long as it takes.
    func received(_ connection: UInt) {
        entries.withLock { $0[connection]?.deadline = nil }
    }

    /// The answer is on its way.
    func sending(_ connection: UInt, isStream: Bool) {
        let deadline = isStream ? nil : ContinuousClock.now.advanced(by: limits.sendTimeout)
        entries.withLock { $0[connection]?.deadline = deadline }
    }

    /// The answer is sent; the next request may come.
    func answered(_ connection: UInt) {
        entries.withLock { $0[connection]?.deadline = .now.advanced(by: limits.receiveTimeout) }
    }

    /// Called before the socket is closed, so that no other file can have its number while it is listed here.
    func closed(_ connection: UInt) {
        guard let peer = entries.withLock({ $0.removeValue(forKey: connection) })?.peer else { return }
        crowds.withLock { crowds in
            let count = (crowds[peer] ?? 1) - 1
            crowds[peer] = count > 0 ? count : nil
        }
    }

    func shutDownLate(_ now: ContinuousClock.Instant = .now) {
        entries.withLock { entries in
            for (connection, entry) in entries where entry.deadline.map({ $0 < now }) ?? false {
                shutdown(entry.descriptor, Int32(SHUT_RDWR))
                entries[connection]?.deadline = nil
            }
        }
    }

    var count: Int {
        entries.withLock { $0.count }
    }
}
