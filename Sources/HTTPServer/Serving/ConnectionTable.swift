import Foundation
import Synchronization

/// Until when each connection's next request must have arrived whole.
///
/// libmicrohttpd's own timeout starts anew with every byte, so that a client that drips one now and then could hold its
/// connection for days. With epoll it may also overlook that a client has gone in the middle of a request. A connection
/// that is late gets its socket shut down; libmicrohttpd then closes it.
final class ConnectionTable: Sendable {
    private struct Entry {
        let descriptor: Int32
        /// Nil while a request is being answered.
        var deadline: ContinuousClock.Instant?
    }

    /// By the connection's address, which is unique while it is open.
    private let entries = Mutex<[UInt: Entry]>([:])
    private let patience: Duration

    init(patience: Duration) {
        self.patience = patience
    }

    func opened(_ connection: UInt, descriptor: Int32) {
        entries.withLock { $0[connection] = Entry(descriptor: descriptor, deadline: .now.advanced(by: patience)) }
    }

    /// A whole request is here; its answer may take as long as it takes.
    func received(_ connection: UInt) {
        entries.withLock { $0[connection]?.deadline = nil }
    }

    /// The answer is sent; the next request may come.
    func answered(_ connection: UInt) {
        entries.withLock { $0[connection]?.deadline = .now.advanced(by: patience) }
    }

    /// Called before the socket is closed, so that no other file can have its number while it is listed here.
    func closed(_ connection: UInt) {
        entries.withLock { $0[connection] = nil }
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
