import AMQP
import BellhopRules
import ServiceRuntime
import Store

/// Publishes resume messages, directly or through a retry tier, and pages of fan-outs, and waits for their confirms.
struct ResumeSender: Sendable {
    let publisher: any MessagePublisher
    let names: TopologyNames
    let time: any TimeSource
    let chance: RandomSource
    let logger: Logger

    /// The path of a resume back to the lane's resume queue.
    enum Route: Hashable, Sendable {
        case atOnce
        case after(RetryTier)
        /// In place of a message that was delivered before.
        case replacement(after: RetryTier)
    }

    /// The maximum wait for confirms that are optional, because the ledger contains the same data.
    ///
    /// During an alarm of the broker, no message must wait for its end.
    static let patience = Duration.seconds(2)

    /// Publishes resumes within ``patience``, and none at all while the broker accepts nothing.
    ///
    /// - Returns: The notifications whose resume is not confirmed.
    func send(_ keys: [Route: [NotificationKey]], lane: Lane, until drain: DrainSignal) async -> Set<NotificationKey> {
        guard !publisher.isBlocked else { return Set(keys.values.joined()) }
        return await send(
            keys.flatMap { route, keys in
                ResumeMessage.messages(for: keys, replacingEarlier: route.replacesEarlier).map {
                    (resume: $0, message: message($0, route, lane))
                }
            },
            until: drain,
            within: Self.patience
        )
    }

    /// Publishes resumes directly; each group stays together.
    func send(groups: [[NotificationKey]], lane: Lane, until drain: DrainSignal) async -> Set<NotificationKey> {
        await send(
            ResumeMessage.messages(for: groups).map { (resume: $0, message: message($0, .atOnce, lane)) },
            until: drain
        )
    }

    /// Publishes resumes directly to the replay queue, so that they do not affect live traffic.
    func replay(_ keys: [NotificationKey], until drain: DrainSignal) async -> Set<NotificationKey> {
        await send(
            ResumeMessage.messages(for: keys).map {
                (resume: $0, message: message($0.body, to: names.work, names.replay))
            },
            until: drain
        )
    }

    /// Publishes pages of fan-outs, each to its lane, directly or through a tier.
    ///
    /// It returns the unconfirmed ones.
    ///
    /// With a `patience`, none is published while the broker accepts nothing.
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

    /// Publishes messages, and returns those without a confirm at the start of a drain or at the end of the patience.
    private func send<Work: Sendable>(
        _ messages: [(work: Work, message: OutgoingMessage)],
        until drain: DrainSignal,
        within patience: Duration? = nil
    ) async -> [Work] {
        var waiting = messages
        var pauses = RetryBackoff(drain: drain, time: time, chance: chance)
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

    private func message(_ resume: ResumeMessage, _ route: Route, _ lane: Lane) -> OutgoingMessage {
        let exchange =
            switch route {
            case .atOnce: names.work
            case .after(let tier), .replacement(let tier): names.retry(tier)
            }
        return message(resume.body, to: exchange, names.resume(lane))
    }

    /// Creates a message with new properties, because a republished message must not carry the broker's headers.
    ///
    /// A message to its queue carries its publication time, so that its wait there can be measured; a message through a
    /// tier waits intentionally.
    private func message(_ body: [UInt8], to exchange: String, _ routingKey: String) -> OutgoingMessage {
        var properties = MessageProperties(contentType: "application/json")
        if exchange == names.work { properties.timestamp = UInt64(clamping: time.now().microseconds / 1_000_000) }
        return OutgoingMessage(exchange: exchange, routingKey: routingKey, properties: properties, body: body)
    }
}

extension ResumeSender.Route {
    fileprivate var replacesEarlier: Bool {
        if case .replacement = self { true } else { false }
    }
}
