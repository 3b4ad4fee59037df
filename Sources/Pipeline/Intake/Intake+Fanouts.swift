import BellhopRules
import Postgres
import Store

/// Events for a wider audience, page by page: each page is an ordinary batch of notifications, whose message is
/// acknowledged when all of it is settled and the message of the page that takes its place is confirmed.
extension Intake {
    /// Publishes pages that no message names yet, and closes the parts that waited for that.
    func hand(over pages: [Entry<FanoutPage>], _ batch: Batch) async {
        guard !pages.isEmpty else { return }
        let unconfirmed = Set(await settler.resumes.send(pages: pages.map(\.work), until: batch.drain))
        batch.messages.giveUp(pages.filter { unconfirmed.contains($0.work) }.map(\.index))
        batch.messages.close(pages.filter { !unconfirmed.contains($0.work) }.map(\.index))
    }

    /// Takes the pages that a batch names, side by side as far as there is room for them.
    func expand(_ rest: StoredBatch.Rest, _ batch: Batch) async {
        await withDiscardingTaskGroup { group in
            for entry in rest.pages {
                group.addTask {
                    await pages.hold(batch.lane) { await expand(entry, rest, batch) }
                }
            }
        }
    }

    private func expand(_ entry: Entry<ArrivedPage>, _ rest: StoredBatch.Rest, _ batch: Batch) async {
        let (index, page) = (entry.index, entry.work.page)
        let taken =
            await batch.drain.isDraining
            ? nil
            : insist(batch) { store throws(PostgresError) in
                try await store.take(page)
            }
        switch taken {
        case nil: batch.messages.giveUp([index])
        case .over?:
            guard rest.heirs.contains(index) else { return batch.messages.close([index]) }
            // Whoever finished it may have died before the page that takes its place was published.
            await follow(index, batch) { store throws(PostgresError) in try await store.untaken(of: page.fanout) }
        case .open(let open)?: await expand(open, entry, rest, batch)
        }
    }

    private func expand(
        _ open: OpenPage,
        _ entry: Entry<ArrivedPage>,
        _ rest: StoredBatch.Rest,
        _ batch: Batch
    ) async {
        let (index, page) = (entry.index, entry.work.page)
        // The next pages need not wait for this one.
        async let announced = settler.resumes.send(pages: open.further, until: batch.drain)
        let words: InboxWords
        switch Self.words(of: open, rest.decider) {
        case .success(let success): words = success
        case .failure(let trouble):
            _ = await announced
            return await pause(page.fanout, because: trouble.reason, index, batch)
        }
        let found = await insist(batch) { store throws(PostgresError) in try await store.audience(of: open) }
        guard let audience = found, await announced.isEmpty else { return batch.messages.giveUp([index]) }
        let recorded = await pages.write(batch.lane) {
            await record(Self.records(words, for: audience, at: index), rest.decider, batch)
        }
        guard !batch.messages.isGivenUp(index) else { return }
        bury(recorded, of: words, entry, batch)
        var work = Resumption.Work()
        work.shipments = recorded.shipments
        work.footprint = words.content.footprint + recorded.shipments.count * Self.shipmentBytes
        work.open(batch)
        let owed = StoredBatch.Rest(
            parts: Resumption.parts(of: recorded.duplicates),
            heirs: rest.heirs,
            decider: rest.decider
        )
        owed.open(batch)
        await batch.asides.carrying(work.footprint) { await deliver(work, batch) }
        await resume(owed, batch)
        guard !batch.messages.isGivenUp(index) else { return }
        var tally = PageTally()
        tally.users = audience.count
        tally.recorded = recorded.count
        tally.sent = recorded.shipments.count
        context.metrics.fanouts.count(tally, words.app)
        await follow(index, batch) { [tally] store throws(PostgresError) in try await store.finish(page, tally) }
    }

    /// Publishes the pages that `find` names, and closes the part that the page itself was.
    private func follow(
        _ index: Int,
        _ batch: Batch,
        _ find: @Sendable (any PipelineStore) async throws(PostgresError) -> [FanoutPage]
    ) async {
        let next = await insist(batch, find)
        let unconfirmed = await settler.resumes.send(pages: next ?? [], until: batch.drain)
        if next != nil, unconfirmed.isEmpty { batch.messages.close([index]) } else { batch.messages.giveUp([index]) }
    }

    /// An event that was understood when it came, and is not any more: its catalogue has changed.
    private func pause(_ fanout: Int64, because reason: RejectionReason, _ index: Int, _ batch: Batch) async {
        context.logger.error(
            "a fan-out is paused, its event cannot be worded any more",
            ["fanout": .integer(Int(fanout)), "reason": .text(reason.rawValue)]
        )
        let paused: Void? = await insist(batch) { store throws(PostgresError) in
            try await store.pause(fanout, because: reason.rawValue)
        }
        if paused == nil { batch.messages.giveUp([index]) } else { batch.messages.close([index]) }
    }

    /// Whoever cannot have the notification gets a dead letter: the event, for them alone.
    private func bury(_ recorded: Recorder.Recorded, of words: InboxWords, _ entry: Entry<ArrivedPage>, _ batch: Batch)
    {
        let letters = recorded.faultsByUser.map { users, cause in
            let event = words.event
            let message = entry.work.message.part(
                event.plainForm(for: .users(users), expiresAt: words.content.extras.expiresAt),
                by: tools.names.events,
                "\(words.app.text).\(event.type.text)"
            )
            return Entry(index: entry.index, work: Undeliverable.message(message, cause))
        }
        batch.messages.open(letters.map(\.index))
        settler.bury(letters, batch)
    }

    /// What is kept of an event makes no words any more.
    private struct Unreadable: Error {
        let reason: RejectionReason
    }

    private func insist<Value: Sendable>(
        _ batch: Batch,
        _ work: @Sendable (any PipelineStore) async throws(PostgresError) -> Value
    ) async -> Value? {
        await batch.persistence.insist { [store = tools.store] () throws(PostgresError) in try await work(store) }
    }

    private static func words(of page: OpenPage, _ decider: Decider) -> Result<InboxWords, Unreadable> {
        switch SubmissionParser(decider.catalogs).parse(InboundEnvelope(body: page.content, source: .elsewhere)) {
        case .failure(let rejection): .failure(Unreadable(reason: rejection.reason))
        case .success(.event(let event)):
            WordedEvent.read(event, decider.catalogs, at: decider.now).map { $0.words(page.contentHash) }
                .mapError { Unreadable(reason: $0.reason) }
        case .success(.feed), .success(.cancellation):
            .failure(Unreadable(reason: .invalidField))
        }
    }

    private static func records(
        _ words: InboxWords,
        for audience: [FanoutBook.Listener],
        at index: Int
    ) -> [Entry<InboxRecord>] {
        audience.enumerated().map { position, listener in
            var record = InboxRecord(words, for: listener.user)
            record.follow = listener.follow
            record.position = position
            return Entry(index: index, work: record)
        }
    }

    /// About what a push weighs beside the words that it shares with the others.
    private static let shipmentBytes = 1024
}
