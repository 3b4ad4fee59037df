import ServiceRuntime
import Synchronization

/// One condition that a ready process must meet, such as "the database answers".
package struct ReadinessCheck: Sendable {
    package let name: String
    private let timeout: Duration
    private let probe: CoalescedCheck

    /// - Parameters:
    ///   - name: the name in the answer of `/readyz`.
    ///   - timeout: the time after which the check has failed and is cancelled; it runs again only after it has ended.
    ///   - whatIsWrong: returns `nil` if ready, otherwise one line for operators, without secrets.
    package init(
        _ name: String,
        timeout: Duration = .seconds(2),
        whatIsWrong: @escaping @Sendable () async -> String?
    ) {
        self.name = name
        self.timeout = timeout
        probe = CoalescedCheck(whatIsWrong)
    }

    /// Returns the current problem; `nil` if there is none.
    func outcome() async -> String? { await probe.run(timeout: timeout) }
}

/// Runs a check at most once at a time.
///
/// Concurrent callers get the same answer, and a hanging check does not accumulate.
private final class CoalescedCheck: Sendable {
    private let check: @Sendable () async -> String?
    private let running = Mutex<Task<String?, Never>?>(nil)

    init(_ check: @escaping @Sendable () async -> String?) { self.check = check }

    func run(timeout: Duration) async -> String? {
        let work = current()
        let (answers, continuation) = AsyncStream<String?>.makeStream()
        // Separate tasks, because a check that ignores its cancellation must not delay the answer.
        let relay = Task { _ = continuation.yield(await work.value) }
        let timer = Task {
            guard (try? await Task.sleep(for: timeout)) != nil else { return }
            work.cancel()
            continuation.yield("no answer within \(timeout.shortText)")
        }
        defer {
            timer.cancel()
            relay.cancel()
        }
        for await answer in answers { return answer }
        return "check cancelled"
    }

    private func current() -> Task<String?, Never> {
        running.withLock { running in
            if let running { return running }
            let task = Task {
                let answer = await check()
                self.running.withLock { $0 = nil }
                return answer
            }
            running = task
            return task
        }
    }
}
