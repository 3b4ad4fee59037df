import AMQP
import BellhopRules
import ServiceRuntime

/// The way into the dead-letter queue: a casualty is there only once the broker has confirmed it.
struct DeadLetterQueue: Sendable {
    let publisher: Publisher
    let exchange: String
    let surroundings: FrontDoor.Surroundings

    /// Publishes one letter for each casualty and waits for the confirms, for as long as it takes.
    ///
    /// - Returns: for each casualty whether it lies in the queue; false only where a drain or a cancellation came first.
    func bury(_ casualties: [Casualty], until drain: DrainSignal) async -> [Bool] {
        let now = Timestamp(clamping: surroundings.time.now().microseconds)
        var chance = SystemRandomNumberGenerator()
        var letters = casualties.map { DeadLetter($0, to: exchange, at: now, using: &chance) }
        var waiting = Array(letters.indices)
        var backoff = Backoff(base: .milliseconds(50), cap: .seconds(5))
        var failures = 0
        while true {
            let outcomes = await publisher.publish(waiting.map { letters[$0].message })
            var remaining: [Int] = []
            for (index, outcome) in zip(waiting, outcomes) {
                switch outcome {
                case .confirmed: surroundings.metrics.countDeadLetter(casualties[index].fault)
                case .tooLarge:
                    letters[index].dropOriginalHeaders()
                    remaining.append(index)
                case .unroutable, .refused, .unknown, .notSent: remaining.append(index)
                }
            }
            guard !remaining.isEmpty else { return Array(repeating: true, count: casualties.count) }
            waiting = remaining
            failures += 1
            if failures == 3 {
                surroundings.logger.warning(
                    "the broker does not take dead letters, holding the messages",
                    ["size": .integer(waiting.count), "first": .text("\(outcomes.first { $0 != .confirmed } ?? .refused)")]
                )
            }
            guard !drain.isDraining || failures < 5, !Task.isCancelled,
                (try? await Task.sleep(for: backoff.next(using: &chance))) != nil
            else { break }
        }
        let lost = Set(waiting)
        return casualties.indices.map { !lost.contains($0) }
    }
}
