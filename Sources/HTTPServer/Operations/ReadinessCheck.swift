import ServiceRuntime
import Synchronization

/// One thing that must be so for a process to be ready, such as "the database answers".
package struct ReadinessCheck: Sendable {
    package let name: String
    private let timeout: Duration
    private let probe: Probe

    /// - Parameters:
    ///   - name: what stands in the answer of `/readyz`.
    ///   - timeout: after this the check has failed and is cancelled; it is run again only once it has ended.
    ///   - whatIsWrong: nil means ready; else one line for a person, without secrets.
    package init(
        _ name: String,
        timeout: Duration = .seconds(2),
        whatIsWrong: @escaping @Sendable () async -> String?
    ) {
        self.name = name
        self.timeout = timeout
        probe = Probe(whatIsWrong)
    }

    /// What is wrong now; nil where nothing is.
    func outcome() async -> String? {
        await probe.run(timeout: timeout)
    }
}

/// Runs a check at most once at a time: whoever asks meanwhile gets the same answer, and one that hangs does not pile up.
private final class Probe: Sendable {
    private let check: @Sendable () async -> String?
    private let running = Mutex<Task<String?, Never>?>(nil)

    init(_ check: @escaping @Sendable () async -> String?) {
        self.check = check
    }

    func run(timeout: Duration) async -> String? {
        let work = current()
        let (answers, continuation) = AsyncStream<String?>.makeStream()
        // Tasks of their own: a check that ignores its cancellation must not hold up the answer.
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
        for await answer in answers {
            return answer
        }
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
