import ServiceRuntime

/// How a batch in hand waits for a server that is away: for ever in normal life, a few more times once a drain has begun.
struct Pauses {
    private(set) var failures = 0
    private let drain: DrainSignal
    private let time: any TimeSource
    private var chance: Chance
    private var backoff = Backoff(base: .milliseconds(20), cap: .seconds(5))

    init(drain: DrainSignal, time: any TimeSource, chance: Chance) {
        self.drain = drain
        self.time = time
        self.chance = chance
    }

    /// Counts a failure and pauses before the next attempt; false where there should be none.
    mutating func pause() async -> Bool {
        failures += 1
        let pause = backoff.next(using: &chance)
        guard !drain.isDraining || failures < Self.attemptsWhileDraining, !Task.isCancelled else { return false }
        guard !drain.isDraining else { return (try? await time.sleep(for: pause)) != nil }
        // A drain must not wait for the end of a long pause.
        return await withTaskGroup(of: Bool.self) { [drain, time] group in
            group.addTask { (try? await time.sleep(for: pause)) != nil }
            group.addTask {
                await drain.wait()
                return !Task.isCancelled
            }
            let isWorthwhile = await group.next() ?? false
            group.cancelAll()
            return isWorthwhile
        }
    }

    private static let attemptsWhileDraining = 5
}
