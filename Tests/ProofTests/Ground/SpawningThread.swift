import Foundation
import Synchronization

/// The one thread that starts programs, for as long as the test run lives: the kernel's "kill it when its parent dies"
/// takes the thread that started it for the parent, and the threads of Swift's tasks come and go.
///
/// Thread safety: the queue is behind a lock; the semaphore counts what is in it.
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

    /// Runs a short piece of work there and waits for it.
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
