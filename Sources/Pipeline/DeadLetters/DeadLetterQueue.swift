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
        var chance = SystemRandomNumberGenerator()
        let now = Timestamp(clamping: surroundings.time.now().microseconds)
        var letters = casualties.map { DeadLetter($0, to: exchange, at: now, using: &chance) }
        var waiting = Array(letters.indices)
        var patience = Patience(drain: drain)
        while true {
            let outcomes = await publisher.publish(waiting.map { letters[$0].message })
            var remaining: [Int] = []
            for (index, outcome) in zip(waiting, outcomes) {
                guard outcome != .confirmed else {
                    surroundings.metrics.countDeadLetter(casualties[index].fault)
                    continue
                }
                if isHopeless(outcome, after: patience.failures) { letters[index].slim() }
                remaining.append(index)
            }
            if waiting.count > remaining.count {
                surroundings.logger.info("dead-lettered", Self.summary(casualties, of: waiting, but: remaining))
            }
            waiting = remaining
            guard !waiting.isEmpty else { return Array(repeating: true, count: casualties.count) }
            if patience.failures == 2 {
                let first = outcomes.first { $0 != .confirmed }
                surroundings.logger.warning(
                    "the broker does not take dead letters, holding the messages",
                    ["size": .integer(waiting.count), "first": .text(first.map { "\($0)" } ?? "-")]
                )
            }
            guard await patience.pause(using: &chance) else { break }
        }
        let unburied = Set(waiting)
        return casualties.indices.map { !unburied.contains($0) }
    }

    /// How many, and the reasons with their counts.
    private static func summary(_ casualties: [Casualty], of sent: [Int], but remaining: [Int]) -> LogFields {
        let kept = Set(remaining)
        let reasons = sent.filter { !kept.contains($0) }.map { casualties[$0].fault.reason }
        let counts = Dictionary(reasons.map { ($0, 1) }, uniquingKeysWith: +).sorted { $0.key < $1.key }
        return [
            "messages": .integer(reasons.count),
            "reasons": .text(counts.map { "\($0.key):\($0.value)" }.joined(separator: ",")),
        ]
    }

    /// Whether the letter itself seems to be the trouble: it cannot be written, or the broker closes the channel over it
    /// again and again although the connection stands.
    private func isHopeless(_ outcome: PublishOutcome, after failures: Int) -> Bool {
        switch outcome {
        case .unwritable: true
        case .notSent, .unknown: failures >= 5 && publisher.isConnected && !publisher.isBlocked
        case .confirmed, .unroutable, .refused: false
        }
    }
}
