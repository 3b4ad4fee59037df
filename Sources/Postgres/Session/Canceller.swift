import CPostgreSQL
import Dispatch
import ServiceRuntime
import Synchronization

/// Asks the server to give up what one session runs, from any thread.
///
/// libpq's `PQcancel` opens a connection of its own and blocks until the server has closed it, which behind a silent
/// peer can take minutes; each request therefore has a short-lived thread.
///
/// Thread safety: the manual says of `PGcancel` that it "is read-only as far as PQcancel is concerned, so it can also
/// be invoked from a thread that is separate from the one manipulating the PGconn object". Only `deinit` frees it,
/// and every running request holds this object.
final class Canceller: @unchecked Sendable {
    private let cancel: OpaquePointer

    /// Requests under way in this process; against a silent peer they would pile up without a bound.
    private static let underWay = Atomic<Int>(0)
    private static let limit = 16

    /// Nil when libpq has no memory or no connection to take the key from.
    init?(session handle: OpaquePointer) {
        guard let cancel = PQgetCancel(handle) else { return nil }
        self.cancel = cancel
    }

    deinit {
        PQfreeCancel(cancel)
    }

    /// Sends the request in the background; nil if too many are under way already.
    func send() -> CancelRequest? {
        guard Self.underWay.add(1, ordering: .relaxed).newValue <= Self.limit else {
            Self.underWay.subtract(1, ordering: .relaxed)
            return nil
        }
        let request = CancelRequest()
        NativeThread.start(named: "pg-cancel") { [self] in
            withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { fault in
                _ = PQcancel(cancel, fault.baseAddress, Int32(clamping: fault.count))
            }
            Self.underWay.subtract(1, ordering: .relaxed)
            request.finish()
        }
        return request
    }
}

/// One cancel request on its way.
///
/// The session must not run anything else before it is through, or the request could hit a statement of someone else.
final class CancelRequest: Sendable {
    private let finished = DispatchSemaphore(value: 0)

    fileprivate func finish() {
        finished.signal()
    }

    /// Blocks the session's thread until the server took the request; false if that takes too long.
    ///
    /// Call it once.
    func wait(atMost limit: Duration) -> Bool {
        finished.wait(timeout: .now() + limit.dispatchInterval) == .success
    }
}
