import ServiceRuntime

/// The pauses of a batch that waits for an unavailable server: unlimited in normal operation, a few attempts after the
/// start of a drain.
struct Pauses {
    private(set) var failures = 0
    private let drain: DrainSignal
    private let time: any TimeSource
    private var chance: RandomSource
    private var backoff = Backoff(base: .milliseconds(20), cap: .seconds(5))

    init(drain: DrainSignal, time: any TimeSource, chance: RandomSource) {
        self.drain = drain
        self.time = time
        self.chance = chance
    }

    /// Counts a failure and pauses before the next attempt; `false` if there must be none.
    mutating func pause() async -> Bool {
        failures += 1
        let pause = backoff.next(using: &chance)
        guard !drain.isDraining || failures < Self.attemptsWhileDraining, !Task.isCancelled else { return false }
        guard !drain.isDraining else { return (try? await time.sleep(for: pause)) != nil }
        return await drain.sleep(for: pause, by: time)
    }

    private static let attemptsWhileDraining = 5
}

extension DrainSignal {
    /// Sleeps for `span`, but not past the beginning of a drain.
    ///
    /// - Returns: Whether no cancellation came first.
    func sleep(for span: Duration, by time: any TimeSource) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask { (try? await time.sleep(for: span)) != nil }
            group.addTask {
                await self.wait()
                return !Task.isCancelled
            }
            let isOver = await group.next() ?? false
            group.cancelAll()
            return isOver
        }
    }
}
