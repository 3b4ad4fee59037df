import Dispatch
import ServiceRuntime
import Synchronization

/// The thread behind one slot of a pool: it opens a connection, serves one caller after the other on it, and opens
/// another when it is lost.
///
/// Everything that blocks happens here.
///
/// While callers wait, the thread takes the next one directly: no hop, and no sleep in between.
final class PoolThread: Sendable {
    private let slot: Int
    private let core: PoolCore
    private let mailbox = Mutex<PoolRequest?>(nil)
    private let wakeUp = DispatchSemaphore(value: 0)

    /// After this long without work a connection is checked, and closed if the pool has more than its lower bound.
    private static let idleLimit = Duration.seconds(60)

    init(slot: Int, core: PoolCore) {
        self.slot = slot
        self.core = core
    }

    func start() {
        NativeThread.start(named: "pg-\(slot)") { self.main() }
    }

    /// Gives the idle thread work.
    ///
    /// The pool's state sees to it that there is never more than one piece.
    func deliver(_ request: PoolRequest) {
        mailbox.withLock { $0 = request }
        wakeUp.signal()
    }

    /// Makes the thread look again whether the pool is closed.
    func wake() {
        wakeUp.signal()
    }

    private func main() {
        var goesOn = true
        while goesOn {
            do {
                let session = try Session.open(core.recipe)
                goesOn = serve(on: session)
            } catch {
                goesOn = pause(after: error)
            }
        }
        core.ended(slot)
    }

    /// Waits before the next attempt; false if there is to be none.
    private func pause(after error: PostgresError) -> Bool {
        guard let pause = core.refused(slot, error) else { return false }
        _ = wakeUp.wait(timeout: .now() + pause.dispatchInterval)
        return core.retries(slot)
    }

    /// Serves until the connection is lost (true: open another) or no longer needed.
    private func serve(on session: Session) -> Bool {
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
                    // Not without asking: work may have been given to this slot and be on its way.
                    if core.retires(slot) { return false }
                    // Taken off the idle ones during the look, so that nobody is given to a dead connection.
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
