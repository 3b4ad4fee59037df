import AMQP
import BellhopRules
import ServiceRuntime
import Store

/// Publishes dead letters.
///
/// An undeliverable is in the queue only after the broker's confirm.
struct DeadLetterQueue: Sendable {
    let publisher: any MessagePublisher
    let exchange: String
    let context: PipelineContext

    /// One dead letter in flight.
    private struct Waiting {
        let position: Int
        let cause: DeadLetterCause
        var letter: DeadLetter
    }

    /// Publishes one dead letter for each undeliverable and waits for the confirms without a time limit.
    ///
    /// It calls `ended` with the positions of confirmed ones as soon as they are, and at the end with the unconfirmed
    /// ones. The latter exist only if a drain or a cancellation came first.
    func publish(
        _ undeliverables: [DeadLetterSource],
        until drain: DrainSignal,
        _ ended: (_ positions: [Int], _ areConfirmed: Bool) async -> Void
    ) async {
        guard !undeliverables.isEmpty else { return }
        var chance = context.chance
        let now = context.time.timestamp
        var waiting = undeliverables.enumerated().map { position, undeliverable in
            let letter = DeadLetter(undeliverable, to: exchange, at: now, using: &chance)
            return Waiting(position: position, cause: undeliverable.cause, letter: letter)
        }
        var pauses = RetryBackoff(drain: drain, time: context.time, chance: context.chance)
        while true {
            let outcomes = await publisher.publish(waiting.map(\.letter.message))
            let confirmed = zip(waiting, outcomes).filter { $1 == .confirmed }.map(\.0)
            if !confirmed.isEmpty {
                for item in confirmed { context.metrics.countDeadLetter(item.cause) }
                context.deadLettered.add(confirmed.map(\.cause.reason))
                await ended(confirmed.map(\.position), true)
            }
            let first = outcomes.first { $0 != .confirmed }
            waiting = zip(waiting, outcomes).filter { $1 != .confirmed }.map { waiting, outcome in
                reduced(waiting, after: outcome, pauses.failures)
            }
            guard !waiting.isEmpty else { return }
            if pauses.failures == 2 {
                context.logger.warning(
                    "broker rejects dead letters, holding the messages",
                    ["size": .integer(waiting.count), "first": .text(first.map { "\($0)" } ?? "-")]
                )
            }
            guard await pauses.pause() else { break }
        }
        await ended(waiting.map(\.position), false)
    }

    /// Returns the dead letter with less content, if it can never be published unchanged.
    private func reduced(_ waiting: Waiting, after outcome: PublishOutcome, _ failures: Int) -> Waiting {
        var smaller = waiting
        if case .tooLarge = outcome {
            smaller.letter.cut()
        } else if isHopeless(outcome, after: failures) {
            smaller.letter.slim()
        }
        return smaller
    }

    /// Whether the dead letter itself seems to be the problem: it cannot be encoded, or the broker repeatedly closes
    /// the channel because of it although the connection stays open.
    private func isHopeless(_ outcome: PublishOutcome, after failures: Int) -> Bool {
        switch outcome {
        case .unwritable: true
        case .notSent, .unknown: failures >= 5 && publisher.isConnected && !publisher.isBlocked
        case .confirmed, .unroutable, .refused, .tooLarge: false
        }
    }
}
