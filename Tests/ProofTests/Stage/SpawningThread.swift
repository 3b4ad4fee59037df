import Foundation
import Synchronization

/// The one thread that starts programs, for as long as the test run lasts.
///
/// The kernel's "kill it when its parent dies" regards the starting thread as the parent, and the threads of Swift's
/// tasks are temporary.
///
/// Thread safety: the queue is behind a lock; the semaphore counts its entries.
final class SpawningThread: Sendable {
    static let shared = SpawningThread()

    private let waiting = Mutex<[@Sendable () -> Void]>([])
    private let arrivals = DispatchSemaphore(value: 0)

    private init() {
        Thread.detachNewThread { [self] in
            while true {
                arrivals.wait()
                let work = waiting.withLock { $0.removeFirst() }
                work()
            }
        }
    }

    /// Runs a short piece of work on the thread and waits for it.
    func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) throws -> Value {
        let done = DispatchSemaphore(value: 0)
        let box = AnswerBox<Value>()
        waiting.withLock { queue in
            queue.append {
                box.fill(Result { try body() })
                done.signal()
            }
        }
        arrivals.signal()
        done.wait()
        return try box.value()
    }
}

/// A result that one thread sets and another reads.
///
/// Thread safety: the answer is behind a lock.
private final class AnswerBox<Value: Sendable>: Sendable {
    private let answer = Mutex<Result<Value, any Error>?>(nil)

    func fill(_ result: Result<Value, any Error>) {
        answer.withLock { $0 = result }
    }

    func value() throws -> Value {
        guard let result = answer.withLock({ $0 }) else { throw ProofFailure("nothing was started") }
        return try result.get()
    }
}
