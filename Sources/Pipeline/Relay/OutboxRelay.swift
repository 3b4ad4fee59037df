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
        /// For each slot that was read, the id up to which its rows are done.
        var floors: [Int: Int64] = [:]
        /// Rows below the floors that wait for their turn.
        var strays: [Int64] = []
        /// The time of the latest search for such rows, and the pause after it.
        var searchedAt: Instant?
        var searchPause = OutboxRelay.searching
        /// For each slot in use, how often it was skipped in a row.
        var skipped: [Int: Int] = [:]
    }

    /// The end of a turn.
    private enum Turn {
        case moved
        case nothing
        /// Rows may wait in slots that are in use.
        case busy
        /// The broker did not confirm every message, and may be unavailable.
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
    /// The time after which a relay searches for rows below the floors again.
    private static let searching = Duration.seconds(60)
    /// The number of such rows that one search returns.
    private static let mostStrays = 1_000
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
        try await search(&progress)
        metrics.setAside(progress.pace.asideCount)
        var request = OutboxStore.Request(floors: progress.floors, rows: progress.pace.rows, bytes: RelayPace.bytes)
        request.again = Array(progress.strays.prefix(request.rows))
        request.without = progress.pace.aside(at: context.time.now())
        if let batch = try await insist(share, &progress, request) {
            return try await handle(batch, &progress, until: drain)
        }
        guard let batch = try await context.outbox.rows(share, request) else {
            // The session is new, and its slots may have another owner by now.
            progress.share = nil
            progress.floors = [:]
            return .busy
        }
        let found = Set(batch.rows.map(\.id))
        progress.strays.removeFirst(request.again.count)
        progress.strays.insert(contentsOf: request.again.filter(found.contains), at: 0)
        return try await handle(batch, &progress, until: drain)
    }

    private func handle(
        _ batch: OutboxStore.Batch,
        _ progress: inout Progress,
        until drain: DrainSignal
    ) async throws(StoreError) -> Turn {
        for slot in batch.busySlots { progress.skipped[slot, default: 0] += 1 }
        for slot in batch.readSlots + (batch.unknown?.slots ?? []) { progress.skipped[slot] = nil }
        if let unknown = batch.unknown {
            let floor = try await context.outbox.floor(of: unknown)
            for slot in unknown.slots { progress.floors[slot] = floor }
        }
        guard batch.rows.isEmpty else { return try await publish(batch, &progress, until: drain) }
        if batch.unknown != nil { return .moved }
        return batch.busySlots.isEmpty ? .nothing : .busy
    }

    /// Returns the slots of this relay; `nil` if other relays own all of them.
    private func share(_ progress: inout Progress) async throws(StoreError) -> OutboxStore.Share? {
        let now = context.time.now()
        let isCurrent = progress.sharedAt.map { now - $0 < Self.sharing && now >= $0 } ?? false
        if progress.share == nil || !isCurrent {
            let share = try await context.outbox.takeShare()
            if share != progress.share {
                context.logger.info("slots of the outbox taken", ["slots": .integer(share.slots.count)])
                progress.floors = progress.floors.filter { share.slots.contains($0.key) }
                progress.skipped = progress.skipped.filter { share.slots.contains($0.key) }
            }
            progress.share = share
            progress.sharedAt = now
        }
        return progress.share.flatMap { $0.slots.isEmpty ? nil : $0 }
    }

    /// Searches for rows below the floors: rows that were set aside, and rows that were written without the table's
    /// trigger.
    private func search(_ progress: inout Progress) async throws(StoreError) {
        let start = context.time.now()
        let before = progress.searchedAt ?? start
        guard start < before || start - before >= progress.searchPause else {
            progress.searchedAt = before
            return
        }
        let aside = progress.pace.aside(at: start)
        progress.strays = try await context.outbox.strays(
            below: progress.floors,
            without: aside,
            limit: Self.mostStrays
        )
        if progress.strays.count < Self.mostStrays {
            progress.pace.forget(progress.pace.rested(at: start).subtracting(progress.strays))
        }
        let end = context.time.now()
        progress.searchedAt = end
        // A search that takes long, because the remains of many deleted rows cannot be vacuumed, is made less often.
        progress.searchPause = max(Self.searching, (end - start) * 20)
    }

    /// Waits for the slot that was in use most often in a row; returns its rows.
    private func insist(
        _ share: OutboxStore.Share,
        _ progress: inout Progress,
        _ request: OutboxStore.Request
    ) async throws(StoreError) -> OutboxStore.Batch? {
        guard let slot = progress.skipped.max(by: { $0.value < $1.value }), slot.value >= Self.patience else {
            return nil
        }
        progress.skipped[slot.key] = 0
        var request = request
        request.again = []
        let batch = try await context.outbox.rows(insisting: slot.key, share, request)
        return batch.flatMap { $0.rows.isEmpty && $0.unknown == nil ? nil : $0 }
    }

    /// Publishes rows and deletes the confirmed ones.
    private func publish(
        _ batch: OutboxStore.Batch,
        _ progress: inout Progress,
        until drain: DrainSignal
    ) async throws(StoreError) -> Turn {
        let rows = batch.rows
        progress.pace.took(rows.count, bytes: rows.reduce(0) { $0 + $1.body.count })
        let messages = rows.map { EventMessage.make(unjudged: $0.body, to: context.exchange) }
        let outcomes = await confirm(messages, until: drain)
        progress.confirmed = zip(rows, outcomes).filter { $1 == .confirmed }.map(\.0.id)
        metrics.published(progress.confirmed.count)
        var open = zip(rows, outcomes).filter { $1 != .confirmed }.map(\.0)
        var turn = Turn.moved
        if let failed = zip(rows, outcomes).first(where: { $1 != .confirmed }) {
            let isSetAside = note(failed.0.id, failed.1, of: rows.count, &progress)
            if isSetAside { open = [] } else { turn = .unconfirmed }
        } else {
            progress.pace.succeed(progress.confirmed)
        }
        let done = Set(rows.map(\.id)).subtracting(open.map(\.id))
        progress.strays.removeAll { done.contains($0) }
        raiseFloors(&progress, batch, open: open)
        try await context.outbox.delete(progress.confirmed)
        progress.confirmed = []
        return turn
    }

    /// Raises the floors of the slots that were read, up to the last row or to the first one that is not done.
    private func raiseFloors(_ progress: inout Progress, _ batch: OutboxStore.Batch, open: [OutboxStore.Row]) {
        guard let last = batch.rows.last?.id else { return }
        for slot in batch.readSlots {
            let end = open.first { $0.slot == slot }.map { $0.id - 1 } ?? last
            progress.floors[slot] = max(progress.floors[slot] ?? 0, end)
        }
    }

    /// Notes the first failure of a batch; returns whether its row is set aside.
    private func note(_ row: Int64, _ outcome: PublishOutcome, of count: Int, _ progress: inout Progress) -> Bool {
        context.logger.warning(
            "the broker did not confirm every event, publishing the others again",
            ["row": .integer(Int(clamping: row)), "outcome": .text("\(outcome)")]
        )
        let isConnected = context.publisher.isConnected && !context.publisher.isBlocked
        let now = context.time.now()
        guard progress.pace.fail(row, outcome, isAlone: count == 1, isConnected: isConnected, at: now) else {
            return false
        }
        context.logger.error(
            "the broker does not accept this event, setting its row aside",
            [
                "row": .integer(Int(clamping: row)), "outcome": .text("\(outcome)"),
                "advice": .text("see whether the relay's log-in may publish this app's events, or delete the row"),
            ]
        )
        return true
    }

    /// Publishes messages; a drain limits the time for which it waits for the confirms.
    private func confirm(_ messages: [OutgoingMessage], until drain: DrainSignal) async -> [PublishOutcome] {
        let (answers, door) = AsyncStream.makeStream(of: [PublishOutcome].self)
        let publishing = Task<Void, Never> { [publisher = context.publisher] in
            _ = door.yield(await publisher.publish(inOrder: messages))
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
