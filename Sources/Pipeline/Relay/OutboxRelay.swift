import AMQP
package import ServiceRuntime
package import Store
import Synchronization

/// Moves the rows of a publisher's outbox to the broker, each at least once and those of a key in their order.
///
/// A row is deleted only after the broker's confirm. If the deletion fails, it is repeated; if the relay dies before
/// it, another relay publishes the row again under the same id. An unavailable server only delays the rows.
///
/// Thread safety: the turns run in one task; the obstacle is behind a lock.
package final class OutboxRelay: Service {
    package let name = "relay"
    private let context: Context
    private let metrics: RelayMetrics
    private let alarm = Alarm()
    private let obstacle = Mutex<String?>("it has not read the outbox yet")

    /// The dependencies of a relay.
    package struct Context: Sendable {
        let outbox: OutboxStore
        let listener: OutboxListener
        let publisher: any MessagePublisher
        let exchange: String
        let time: any TimeSource
        let chance: RandomSource
        let logger: Logger
        let metrics: MetricsRegistry

        package init(
            outbox: OutboxStore,
            listener: OutboxListener,
            publisher: any MessagePublisher,
            names: TopologyNames,
            time: any TimeSource = SystemTime(),
            chance: RandomSource = .system,
            logger: Logger,
            metrics: MetricsRegistry
        ) {
            self.outbox = outbox
            self.listener = listener
            self.publisher = publisher
            exchange = names.events
            self.time = time
            self.chance = chance
            self.logger = logger.labelled("relay")
            self.metrics = metrics
        }
    }

    /// The state from turn to turn.
    private struct Progress {
        var share: OutboxStore.Share?
        var sharedAt: Instant?
        var pace = RelayPace()
        /// Confirmed rows whose deletion has failed so far.
        var confirmed: [Int64] = []
        /// The id up to which every row of the share is done, and the time since which this is known.
        var floor: Int64 = 0
        var floorSince: Instant?
        /// For each slot in use, how often it was skipped in a row.
        var skipped: [Int: Int] = [:]
    }

    /// The end of a turn.
    private enum Turn {
        case moved
        case nothing
        /// Rows may wait in slots that are in use.
        case busy
        /// The broker did not confirm every message.
        case unconfirmed
    }

    package init(_ context: Context) {
        self.context = context
        metrics = RelayMetrics(context.metrics)
    }

    /// The reason why no rows can be moved at present; `nil` if there is none.
    package var hindrance: String? { obstacle.withLock { $0 } }

    /// The pause after which the outbox is read even without a notification.
    private static let interval = Duration.seconds(1)
    /// The time after which the relays divide the slots again.
    private static let sharing = Duration.seconds(1)
    /// The time after which a relay reads from the first row again.
    private static let rereading = Duration.seconds(60)
    /// The pause before slots in use are tried again.
    private static let busyPause = Duration.milliseconds(50)
    /// The number of times that a slot in use is skipped before the relay waits for it.
    private static let patience = 5
    /// The time that a drain leaves the broker to confirm a batch.
    private static let lastConfirms = Duration.seconds(8)

    package func run(until drain: DrainSignal) async throws {
        let listener = context.listener
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [alarm] in
                await drain.wait()
                alarm.ring()
            }
            group.addTask { [alarm] in
                await listener.attend { alarm.ring() }
            }
            group.addTask { await self.move(until: drain) }
            await drain.wait()
            listener.close()
        }
    }

    private func move(until drain: DrainSignal) async {
        var progress = Progress()
        var backoff = Backoff(base: .milliseconds(100), cap: .seconds(5))
        var chance = context.chance
        while !drain.isDraining, !Task.isCancelled {
            if let why = context.publisher.obstacle {
                see("the broker: \(why)")
                await alarm.sleep(for: Self.interval)
                continue
            }
            do {
                switch try await turn(&progress, until: drain) {
                case .moved: backoff.reset()
                case .nothing:
                    backoff.reset()
                    await alarm.sleep(for: Self.interval)
                case .busy: await alarm.sleep(for: Self.busyPause)
                case .unconfirmed: await drain.pause(for: backoff.next(using: &chance))
                }
                see(nil)
            } catch {
                let pause = backoff.next(using: &chance)
                report(error, again: pause)
                await drain.pause(for: pause)
            }
        }
    }

    private func see(_ why: String?) { obstacle.withLock { $0 = why } }

    private func report(_ error: StoreError, again pause: Duration) {
        let isNew = obstacle.withLock { obstacle in
            defer { obstacle = "the outbox: \(error)" }
            return obstacle != "the outbox: \(error)"
        }
        var fields: LogFields = ["error": .error(error), "again": .span(pause)]
        if let advice = error.outboxAdvice { fields["advice"] = .text(advice) }
        if isNew { context.logger.warning("cannot read the outbox, its rows wait", fields) }
    }

    private func turn(_ progress: inout Progress, until drain: DrainSignal) async throws(StoreError) -> Turn {
        try await context.outbox.delete(progress.confirmed)
        progress.confirmed = []
        guard let share = try await share(&progress) else { return .nothing }
        var request = OutboxStore.Request(rows: progress.pace.rows, bytes: RelayPace.bytes)
        request.without = progress.pace.aside(at: context.time.now())
        metrics.setAside(progress.pace.asideCount)
        request.floor = floor(&progress)
        guard var batch = try await context.outbox.rows(share, request) else {
            // The session is new, and its slots may have another owner by now.
            progress.share = nil
            return .busy
        }
        if batch.rows.isEmpty { batch.rows = try await insist(share, &progress, batch, request) }
        progress.skipped = progress.skipped.filter { batch.busySlots.contains($0.key) }
        guard !batch.rows.isEmpty else { return batch.busySlots.isEmpty ? .nothing : .busy }
        let isWhole = try await publish(batch.rows, &progress, until: drain)
        if isWhole, batch.busySlots.isEmpty, request.without.isEmpty { progress.floor = batch.rows.last?.id ?? 0 }
        return isWhole ? .moved : .unconfirmed
    }

    /// Returns the slots of this relay; `nil` if other relays own all of them.
    private func share(_ progress: inout Progress) async throws(StoreError) -> OutboxStore.Share? {
        let now = context.time.now()
        let isCurrent = progress.sharedAt.map { now - $0 < Self.sharing && now >= $0 } ?? false
        if progress.share == nil || !isCurrent {
            let share = try await context.outbox.takeShare()
            if share != progress.share {
                context.logger.info("slots of the outbox taken", ["slots": .integer(share.slots.count)])
                progress.floorSince = nil
            }
            progress.share = share
            progress.sharedAt = now
        }
        return progress.share.flatMap { $0.slots.isEmpty ? nil : $0 }
    }

    /// Returns the id after which rows are read.
    ///
    /// It saves the server from reading the entries of deleted rows, which remain until they are vacuumed. Rows are
    /// read from the beginning once per minute, for rows that were written without the table's trigger.
    private func floor(_ progress: inout Progress) -> Int64 {
        let now = context.time.now()
        let isFresh = progress.floorSince.map { now - $0 < Self.rereading && now >= $0 } ?? false
        if !isFresh {
            progress.floor = 0
            progress.floorSince = now
        }
        return progress.floor
    }

    /// Waits for one of the slots that were in use several times in a row.
    private func insist(
        _ share: OutboxStore.Share,
        _ progress: inout Progress,
        _ batch: OutboxStore.Batch,
        _ request: OutboxStore.Request
    ) async throws(StoreError) -> [OutboxStore.Row] {
        for slot in batch.busySlots { progress.skipped[slot, default: 0] += 1 }
        guard let slot = progress.skipped.max(by: { $0.value < $1.value }), slot.value > Self.patience else {
            return []
        }
        progress.skipped[slot.key] = 0
        var request = request
        request.floor = 0
        return try await context.outbox.rows(insisting: slot.key, share, request) ?? []
    }

    /// Publishes rows and deletes the confirmed ones; returns whether all were.
    private func publish(
        _ rows: [OutboxStore.Row],
        _ progress: inout Progress,
        until drain: DrainSignal
    ) async throws(StoreError) -> Bool {
        let messages = rows.map { EventMessage.make(unjudged: $0.body, to: context.exchange) }
        let outcomes = await confirm(messages, until: drain)
        progress.confirmed = zip(rows, outcomes).filter { $1 == .confirmed }.map(\.0.id)
        metrics.published(progress.confirmed.count)
        let failed = zip(rows, outcomes).first { $1 != .confirmed }
        if let failed {
            note(failed.0.id, failed.1, of: rows.count, &progress)
        } else {
            progress.pace.succeed()
        }
        try await context.outbox.delete(progress.confirmed)
        progress.confirmed = []
        return failed == nil
    }

    private func note(_ row: Int64, _ outcome: PublishOutcome, of count: Int, _ progress: inout Progress) {
        context.logger.warning(
            "the broker did not confirm every event, publishing the others again",
            ["row": .integer(Int(clamping: row)), "outcome": .text("\(outcome)")]
        )
        let isConnected = context.publisher.isConnected && !context.publisher.isBlocked
        let now = context.time.now()
        guard progress.pace.fail(row, outcome, isAlone: count == 1, isConnected: isConnected, at: now) != nil else {
            return
        }
        context.logger.error(
            "the broker never accepts this event, setting its row aside for ten minutes",
            [
                "row": .integer(Int(clamping: row)), "outcome": .text("\(outcome)"),
                "advice": .text("see whether the relay's log-in may publish this app's events, or delete the row"),
            ]
        )
    }

    /// Publishes messages; a drain limits the time for which it waits for the confirms.
    private func confirm(_ messages: [OutgoingMessage], until drain: DrainSignal) async -> [PublishOutcome] {
        let (answers, door) = AsyncStream.makeStream(of: [PublishOutcome].self)
        let publishing = Task<Void, Never> { [publisher = context.publisher] in
            _ = door.yield(await publisher.publish(messages))
        }
        let timer = Task {
            await drain.wait()
            guard !Task.isCancelled, (try? await Task.sleep(for: Self.lastConfirms)) != nil else { return }
            door.finish()
        }
        defer { timer.cancel() }
        for await outcomes in answers { return outcomes }
        publishing.cancel()
        return messages.map { _ in .unknown("not confirmed before the end of the process") }
    }
}
