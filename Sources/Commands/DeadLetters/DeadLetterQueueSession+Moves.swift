import AMQP
import BellhopRules
import CLI
import Operations
import Pipeline
import ServiceRuntime
import Store

/// The commands that save or move dead letters without the database.
extension DeadLetterQueueSession {
    /// Performs `export`.
    ///
    /// All messages stay in the queue.
    func export() async throws -> ExitCode {
        let file = try ExportFile(path: words.value("output"), else: request.shell.output)
        var count = 0
        let short = try await forEach { items in
            try file.write(items.map { DeadLetterMessage($0).json.written })
            count += items.count
            return []
        }
        try file.close()
        if let path = words.value("output") {
            say("Wrote \(count.of("item")) to \(path).")
        }
        if let short { throw short }
        return count == 0 ? .answerIsNo : .done
    }

    /// The number of messages that a replay would move, and of messages that stay, by reason.
    private struct Survey {
        var rejected = 0
        var deliveries = 0
        var cut = 0
        var old = 0

        /// Returns the reasons why messages stay.
        func lines(_ horizon: Duration) -> [String] {
            var lines: [String] = []
            if cut > 0 { lines.append(HumanText.cutBodies(cut)) }
            if old > 0 {
                lines.append("\(old.of("item")) failed more than \(horizon.shortText) ago and stay in the queue.")
            }
            if deliveries > 0 {
                lines.append("\(deliveries.of("delivery item")) need the ledger and stay in the queue.")
            }
            return lines
        }
    }

    /// Performs `replay`: it moves rejected messages to the replay queue.
    ///
    /// A message leaves the dead-letter queue only after the broker has confirmed the moved copy.
    func replay() async throws -> ExitCode {
        var survey = Survey()
        let short = try await forEach { items in
            survey.deliveries += items.count { $0.delivery != nil }
            survey.rejected += items.count(where: isReplayable)
            survey.cut += items.count { $0.origin.cutBody != nil }
            survey.old += items.count(where: isTooOld)
            return []
        }
        for line in survey.lines(horizon) { say(line) }
        let rejected = survey.rejected
        guard rejected > 0 else {
            say("No rejected messages match in \(names.dead).")
            if let short { throw short }
            return .answerIsNo
        }
        guard !words.has("dry-run") else {
            say("\(rejected.of("rejected message")) would be moved to \(names.replay); nothing was changed.")
            if let short { throw short }
            return .done
        }
        let question = ActQuestion(count: rejected, .replays, rejected.of("rejected message"))
        guard try request.call.confirm(question) else {
            return .answerIsNo
        }
        let sent = try await move(rejected)
        say("Moved \(sent.of("message")) to \(names.replay).")
        if let short { throw short }
        return sent == rejected ? .done : .tryAgain
    }

    private func move(_ most: Int) async throws -> Int {
        let publisher = Publisher(PublisherOptions(broker: broker, name: "bellhop dead-letters"))
        publisher.start()
        let `operator` = ActingOperator(
            name: words.value("by") ?? request.shell.user,
            because: words.value("because") ?? ""
        )
        var sent = 0
        let result: Result<Void, any Error>
        do {
            _ = try await forEach { items in
                // Messages that arrived after the confirmed count stay.
                let chosen = items.indices.filter { isReplayable(items[$0]) }.prefix(most - sent)
                let confirmed = await DeadLetterScan.republish(
                    chosen.map { items[$0] },
                    by: `operator`,
                    names: names,
                    through: publisher
                )
                let done = zip(chosen, confirmed).filter(\.1).map(\.0)
                sent += done.count
                return Set(done)
            }
            result = .success(())
        } catch {
            result = .failure(error)
        }
        await publisher.close()
        try result.get()
        return sent
    }

    private var horizon: Duration { request.configuration.replayHorizon }

    /// Whether a message is too old by the settings.
    ///
    /// The actual limit of retention is known only to the database.
    private func isTooOld(_ item: DeadLetterItem) -> Bool {
        item.failedAt.microseconds < SystemTime().timestamp.microseconds - horizon.microseconds
    }

    /// Whether a message needs no ledger, has a complete body and is not too old.
    private func isReplayable(_ item: DeadLetterItem) -> Bool {
        item.delivery == nil && item.origin.cutBody == nil && !isTooOld(item)
    }
}
