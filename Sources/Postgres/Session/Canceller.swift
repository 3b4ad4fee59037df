import CPostgreSQL
import Dispatch
import ServiceRuntime
import Synchronization

/// Requests from any thread that the server cancel a session's current work.
///
/// libpq's `PQcancel` opens a separate connection and blocks until the server has closed it, which can take minutes
/// with a silent peer. Each request therefore has a short-lived thread.
///
/// Thread safety: the manual says of `PGcancel` that it "is read-only as far as PQcancel is concerned, so it can also
/// be invoked from a thread that is separate from the one manipulating the PGconn object". Only `deinit` frees it, and
/// every running request holds this object.
final class Canceller: @unchecked Sendable {
    private let cancel: OpaquePointer

    /// The number of running requests in this process; with a silent peer, they would accumulate without limit.
    private static let underWay = Atomic<Int>(0)
    private static let limit = 16

    /// Creates a canceller; `nil` if libpq has no memory or no connection from which to take the key.
    init?(session handle: OpaquePointer) {
        guard let cancel = PQgetCancel(handle) else { return nil }
        self.cancel = cancel
    }

    deinit { PQfreeCancel(cancel) }

    /// Sends the request in the background; returns `nil` if 16 requests are running already.
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

/// One cancel request in flight.
///
/// The session must not run anything else before the request is complete, because it could cancel another caller's
/// statement.
final class CancelRequest: Sendable {
    private let finished = DispatchSemaphore(value: 0)

    fileprivate func finish() { finished.signal() }

    /// Blocks the session's thread until the server received the request; returns `false` if that takes longer than
    /// `limit`.
    ///
    /// May be called once.
    func wait(atMost limit: Duration) -> Bool {
        finished.wait(timeout: .now() + limit.dispatchInterval) == .success
    }
}
