import AMQP
import BellhopRules
import ServiceRuntime
import Store

/// Publishes resume messages, at once or through a retry tier, and pages of fan-outs, and waits for their confirms.
struct ResumeSender: Sendable {
    let publisher: any MessagePublisher
    let names: TopologyNames
    let time: any TimeSource
    let chance: Chance
    let logger: Logger

    /// Where a resume goes on its way back to the lane's resume queue.
    enum Way: Hashable, Sendable {
        case atOnce
        case after(RetryTier)
        /// In place of a message that had been handed out before.
        case heir(after: RetryTier)
    }

    /// How long a caller waits for confirms that it can do without, because the ledger says the same: while the broker has
    /// an alarm, a message in hand must not wait for its end.
    static let patience = Duration.seconds(2)

    /// Publishes resumes within ``patience``, and none at all while the broker accepts nothing.
    ///
    /// - Returns: the notifications whose resume is not confirmed.
    func send(_ keys: [Way: [NotificationKey]], lane: Lane, until drain: DrainSignal) async -> Set<NotificationKey> {
        guard !publisher.isBlocked else { return Set(keys.values.joined()) }
        return await send(
            keys.flatMap { way, keys in
                ResumeMessage.messages(for: keys, areHeirs: way.isHeir).map {
                    (resume: $0, message: message($0, way, lane))
                }
            },
            until: drain,
            within: Self.patience
        )
    }

    /// At once; what belongs together stays together.
    func send(groups: [[NotificationKey]], lane: Lane, until drain: DrainSignal) async -> Set<NotificationKey> {
        await send(
            ResumeMessage.messages(for: groups).map { (resume: $0, message: message($0, .atOnce, lane)) },
            until: drain
        )
    }

    /// At once, to the replay queue, where live traffic does not feel them.
    func replay(_ keys: [NotificationKey], until drain: DrainSignal) async -> Set<NotificationKey> {
        await send(
            ResumeMessage.messages(for: keys).map {
                (resume: $0, message: message($0.body, to: names.work, names.replay))
            },
            until: drain
        )
    }

    /// Pages of fan-outs, each to its lane, at once or through a tier; what is not confirmed comes back.
    ///
    /// With a `patience` none is published while the broker accepts nothing.
    func send(
        pages: [FanoutPage],
        after tier: RetryTier? = nil,
        until drain: DrainSignal,
        within patience: Duration? = nil
    ) async -> [FanoutPage] {
        guard patience == nil || !publisher.isBlocked else { return pages }
        let exchange = tier.map(names.retry) ?? names.work
        return await send(
            pages.map {
                (work: $0, message: message(PageMessage.body($0), to: exchange, names.resume($0.priority.lane)))
            },
            until: drain,
            within: patience
        )
    }

    private func send(
        _ messages: [(resume: ResumeMessage, message: OutgoingMessage)],
        until drain: DrainSignal,
        within patience: Duration? = nil
    ) async -> Set<NotificationKey> {
        let open: [ResumeMessage] = await send(
            messages.map { (work: $0, message: $1) },
            until: drain,
            within: patience
        )
        return Set(open.flatMap(\.keys))
    }

    /// What is not confirmed when the drain begins, or when the patience ends, comes back.
    private func send<Work: Sendable>(
        _ messages: [(work: Work, message: OutgoingMessage)],
        until drain: DrainSignal,
        within patience: Duration? = nil
    ) async -> [Work] {
        var waiting = messages
        var pauses = Pauses(drain: drain, time: time, chance: chance)
        let deadline = patience.map { time.steady() + $0 }
        while !waiting.isEmpty {
            let outcomes = await publish(waiting.map(\.message), until: deadline)
            let first = outcomes.first { $0 != .confirmed }
            waiting = zip(waiting, outcomes).filter { $1 != .confirmed }.map(\.0)
            guard !waiting.isEmpty else { break }
            if let deadline, time.steady() >= deadline || publisher.isBlocked { break }
            if pauses.failures == 2 {
                logger.warning(
                    "broker rejects internal messages, holding the batch",
                    ["size": .integer(waiting.count), "first": .text(first.map { "\($0)" } ?? "-")]
                )
            }
            guard await pauses.pause() else { break }
        }
        return waiting.map(\.work)
    }

    private func publish(
        _ messages: [OutgoingMessage],
        until deadline: ContinuousClock.Instant?
    ) async -> [PublishOutcome] {
        guard let deadline else { return await publisher.publish(messages) }
        return await publisher.publish(messages, within: max(.zero, deadline - time.steady()))
    }

    private func message(_ resume: ResumeMessage, _ way: Way, _ lane: Lane) -> OutgoingMessage {
        let exchange =
            switch way {
            case .atOnce: names.work
            case .after(let tier), .heir(let tier): names.retry(tier)
            }
        return message(resume.body, to: exchange, names.resume(lane))
    }

    /// Fresh properties: a republished message must carry none of the broker's own headers.
    ///
    /// What goes straight to its queue says when, so that its wait there can be told; what goes through a tier waits on
    /// purpose.
    private func message(_ body: [UInt8], to exchange: String, _ routingKey: String) -> OutgoingMessage {
        var properties = MessageProperties(contentType: "application/json")
        if exchange == names.work { properties.timestamp = UInt64(clamping: time.now().microseconds / 1_000_000) }
        return OutgoingMessage(exchange: exchange, routingKey: routingKey, properties: properties, body: body)
    }
}

extension ResumeSender.Way {
    fileprivate var isHeir: Bool {
        if case .heir = self { true } else { false }
    }
}
