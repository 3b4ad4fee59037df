import Dispatch
import ServiceRuntime
import Synchronization

/// The thread of one slot of a pool.
///
/// It opens a connection, serves callers on it in turn, and opens another if it is lost.
///
/// All blocking calls run here. While callers wait, the thread takes the next one directly, without a change of thread
/// and without a sleep.
final class PoolThread: Sendable {
    private let slot: Int
    private let core: PoolCore
    private let mailbox = Mutex<PoolRequest?>(nil)
    private let wakeUp = DispatchSemaphore(value: 0)

    /// The time without work after which a connection is checked, and closed if the pool has more than its lower bound.
    private static let idleLimit = Duration.seconds(60)

    init(slot: Int, core: PoolCore) {
        self.slot = slot
        self.core = core
    }

    func start() { NativeThread.start(named: "pg-\(slot)") { self.main() } }

    /// Gives the idle thread work.
    ///
    /// The pool's state ensures that there is at most one request.
    func deliver(_ request: PoolRequest) {
        mailbox.withLock { $0 = request }
        wakeUp.signal()
    }

    /// Makes the thread check again whether the pool is closed.
    func wake() { wakeUp.signal() }

    private func main() {
        var goesOn = true
        while goesOn {
            do {
                let session = try PostgresSession.open(core.recipe)
                goesOn = serve(on: session)
            } catch {
                goesOn = pause(after: error)
            }
        }
        core.ended(slot)
    }

    /// Waits before the next attempt; returns `false` if there is none.
    private func pause(after error: PostgresError) -> Bool {
        guard let pause = core.refused(slot, error) else { return false }
        _ = wakeUp.wait(timeout: .now() + pause.dispatchInterval)
        return core.retries(slot)
    }

    /// Serves until the connection is lost or no longer needed.
    ///
    /// Returns `true` if another connection must be opened.
    private func serve(on session: PostgresSession) -> Bool {
        var turn = core.connected(slot)
        while true {
            switch turn {
            case .end:
                return false
            case .serve(let request):
                guard session.isUsable() else { return core.lost(slot, nil, unserved: request) }
                let resume = request.perform(on: session, statementTimeout: core.recipe.statementTimeout)
                if let failure = session.failure {
                    let reconnects = core.lost(slot, failure)
                    resume()
                    return reconnects
                }
                turn = core.released(slot)
                resume()
            case .rest:
                let isAwake = wakeUp.wait(timeout: .now() + Self.idleLimit.dispatchInterval) == .success
                if let request = takeMail() {
                    turn = .serve(request)
                } else if core.isClosed || !isAwake {
                    // The state must be asked, because a request may have been given to this slot and not have arrived
                    // yet.
                    if core.retires(slot) { return false }
                    // The slot is not idle during the check, so that no caller gets a dead connection.
                    guard core.borrows(slot) else { continue }
                    guard session.isUsable() else { return core.lost(slot, nil) }
                    turn = core.released(slot)
                }
            }
        }
    }

    private func takeMail() -> PoolRequest? {
        mailbox.withLock { mail in
            defer { mail = nil }
            return mail
        }
    }
}
