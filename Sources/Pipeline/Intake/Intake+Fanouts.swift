import BellhopRules
import Store
import Tracing

/// Events for a wide audience, page by page. Each page is an ordinary batch of notifications. Its message is
/// acknowledged when all of it is settled and the message of its successor is confirmed.
extension Intake {
    /// Publishes pages for which no message exists yet, and closes the parts that waited for that.
    func hand(over pages: [Entry<FanoutPage>], _ batch: Batch) async {
        guard !pages.isEmpty else { return }
        let indices = pages.map(\.index)
        if await settler.send(pages: pages.map(\.work), batch) {
            batch.messages.close(indices)
        } else {
            batch.messages.giveUp(indices)
        }
    }

    /// Processes the pages of a batch concurrently, within the limit of the page gates.
    func expand(_ pages: [Entry<PageWork>], _ batch: Batch) async {
        await withDiscardingTaskGroup { group in
            for entry in pages {
                let batch = batch.part(claiming: context.newClaim())
                group.addTask { [self] in await expand(entry, batch) }
            }
        }
    }

    private func expand(_ entry: Entry<PageWork>, _ batch: Batch) async {
        batch.messages.keep(entry.work.message, at: entry.index)
        defer { batch.messages.keep(nil, at: entry.index) }
        let draft = await pageGates.pass(batch.lane) { () -> PageDraft? in
            await batch.detached.room()
            await context.clocks?.hold(until: batch.drain)
            return batch.drain.isDraining ? nil : await take(entry, batch)
        }
        switch draft {
        case nil: batch.messages.giveUp([entry.index])
        case .over(let next)?: await end(entry, publishing: next, batch)
        case .recorded(let work, let app, let counts)?: await deliver(work, of: app, counts, entry, batch)
        }
        await release(entry, batch)
    }

    /// Makes a page available again after it was set aside.
    ///
    /// It is taken again soon, and that must not count as a crash of its worker.
    private func release(_ entry: Entry<PageWork>, _ batch: Batch) async {
        guard batch.messages.isGivenUp(entry.index), !batch.drain.isDraining else { return }
        await batch.persistence.tryAtMost(2) { [store = worker.store] () throws(StoreError) in
            try await store.putBack(entry.work.page, takenAs: batch.claim)
        }
    }

    /// The result of a page's first half.
    private enum PageDraft {
        /// The page is over; only other pages remain to be published.
        case over(publishing: [FanoutPage])
        case recorded(PendingWork, AppID, PageCounts)
    }

    /// Takes and records a page; `nil` if it has to be given up.
    private func take(_ entry: Entry<PageWork>, _ batch: Batch) async -> PageDraft? {
        let work = entry.work
        let taken = await ask(entry, batch) { store throws(StoreError) in
            try await store.take(work.page, as: batch.claim, redelivered: work.replacesEarlier)
        }
        switch taken {
        case nil: return nil
        case .over?:
            // The worker that ended it may have died before it published the successor.
            guard work.replacesEarlier else { return .over(publishing: []) }
            return await ask(entry, batch) { store throws(StoreError) in
                .over(publishing: try await store.untaken(of: work.page.fanout))
            }
        case .open(let open)?:
            // The next pages need not wait for this one.
            async let areSent = settler.send(pages: open.further, batch)
            let recorded = await record(open, entry, batch)
            // The page stays open for its successors. Its recorded deliveries are claimed, so they are sent in any
            // case.
            if await !areSent { batch.messages.giveUp([entry.index]) }
            return recorded
        }
    }

    private func record(_ open: ClaimedPage, _ entry: Entry<PageWork>, _ batch: Batch) async -> PageDraft? {
        let index = entry.index
        // A page may have waited for long since its batch was taken.
        let decider = decider(at: context.time.timestamp)
        let words: NotificationText
        switch Self.words(of: open, decider) {
        case .success(let success): words = success
        case .failure(let trouble): return await putOff(entry, because: trouble.reason, open.age, batch)
        }
        let found = await ask(entry, batch) { store throws(StoreError) in try await store.audience(of: open) }
        guard let audience = found else { return nil }
        let people = Dictionary(audience.map { ($0.key, $0.recipient) }) { first, _ in first }
        let recorded = await record(Self.records(words, for: audience, at: index), knowing: people, decider, batch)
        let contents = Self.contents / max(1, words.content.texts.byteCount)
        var work = await decideAnew(recorded.late, each: contents, decider, batch)
        // Users who fail individually in the database keep the page open; the other users are served now.
        work.shipments += recorded.shipments
        work.footprint += words.content.texts.byteCount + recorded.shipments.count * Self.shipmentBytes
        // A page names each user once. If the answer to its record was lost, its own claim has these deliveries.
        work.rest = PendingWork.Rest(
            parts: ResumeStage.parts(of: recorded.duplicates, each: contents),
            replacements: entry.work.replacesEarlier ? [index] : [],
            decider: decider,
            keepsClaim: true
        )
        work.deadLetters = deadLetters(recorded, of: words, entry)
        work.trace = trace(entry.work.page, of: words, users: audience.count, batch)
        var counts = PageCounts()
        counts.users = audience.count
        counts.recorded = recorded.count + recorded.duplicates.count
        counts.sent = work.shipments.count
        return .recorded(work, words.app, counts)
    }

    /// Runs the second half.
    ///
    /// The page ends when all of it is settled and all of its dead letters are confirmed.
    private func deliver(
        _ work: PendingWork,
        of app: AppID,
        _ counts: PageCounts,
        _ entry: Entry<PageWork>,
        _ batch: Batch
    ) async {
        batch.messages.open(work.positions)
        await deliver(work, batch)
        guard await batch.messages.isLast(for: entry.index) else { return }
        let next = await ask(entry, batch) { store throws(StoreError) in
            try await store.finish(entry.work.page, counts)
        }
        guard let next else { return }
        context.metrics.fanouts.count(counts, app)
        await end(entry, publishing: next, batch)
    }

    /// Publishes the next pages, and closes the part of the page itself.
    private func end(_ entry: Entry<PageWork>, publishing next: [FanoutPage], _ batch: Batch) async {
        guard await settler.send(pages: next, batch) else { return batch.messages.giveUp([entry.index]) }
        batch.messages.close([entry.index])
    }

    /// Leaves an event that this worker cannot render to another worker.
    ///
    /// The event was valid when it arrived, so some worker has the newer catalogue, and this one soon will. After 15
    /// minutes without success, the fan-out pauses.
    private func putOff(
        _ entry: Entry<PageWork>,
        because reason: RejectionReason,
        _ age: Duration,
        _ batch: Batch
    ) async -> PageDraft? {
        let page = entry.work.page
        if age < Decider.patienceWithCatalogs, let tier = worker.policy.ladder.tier(lasting: .seconds(10)) {
            let back: Void? = await ask(entry, batch) { store throws(StoreError) in
                try await store.putBack(page, takenAs: batch.claim)
            }
            guard back != nil else { return nil }
            return await settler.send(pages: [page], after: tier, batch) ? .over(publishing: []) : nil
        }
        context.logger.error(
            "fan-out paused, its event can no longer be rendered",
            ["fanout": .integer(Int(clamping: page.fanout)), "reason": .text(reason.rawValue)]
        )
        return await ask(entry, batch) { store throws(StoreError) in
            try await store.pause(page, because: reason.rawValue)
            return .over(publishing: [])
        }
    }

    /// Returns a dead letter for each user who cannot have the notification: the event, for that user only.
    private func deadLetters(
        _ recorded: Recorder.Recorded,
        of words: NotificationText,
        _ entry: Entry<PageWork>
    ) -> [Entry<DeadLetterSource>] {
        let event = words.event
        return recorded.faultsByUser.map { users, cause in
            let message = entry.work.message.part(
                event.plainForm(for: .users(users), expiresAt: words.content.expiresAt),
                by: worker.names.events,
                "\(words.app.text).\(event.type.text)"
            )
            return Entry(index: entry.index, work: .message(message, cause))
        }
    }

    /// A stored event that can no longer be rendered.
    private struct Unreadable: Error {
        let reason: RejectionReason
    }

    /// Runs a statement about one page.
    ///
    /// A page that fails individually in the database is given up, so that it does not block the next one.
    ///
    /// - Returns: `nil` if the page is given up.
    private func ask<Value: Sendable>(
        _ entry: Entry<PageWork>,
        _ batch: Batch,
        _ work: @Sendable (any WorkerDatabase) async throws(StoreError) -> Value
    ) async -> Value? {
        let answers = await batch.persistence.ask([entry.index]) { [store = worker.store] _ throws(StoreError) in
            try await work(store)
        }
        if let value = answers?.values.first { return value }
        batch.messages.giveUp([entry.index], because: answers?.unanswered.first?.why)
        return nil
    }

    private static func words(of page: ClaimedPage, _ decider: Decider) -> Result<NotificationText, Unreadable> {
        var envelope = InboundEnvelope(body: page.content, source: .elsewhere)
        envelope.limit = max(envelope.limit, page.content.count)
        switch SubmissionParser(decider.catalogs).parse(envelope) {
        case .failure(let rejection): return .failure(Unreadable(reason: rejection.reason))
        case .success(.event(let event)):
            return RenderedEvent.read(event, decider.catalogs, at: decider.now)
                .map { $0.words(page.contentHash) }
                .mapError { Unreadable(reason: $0.reason) }
        case .success(.feed), .success(.cancellation), .success(.ignored):
            return .failure(Unreadable(reason: .invalidField))
        }
    }

    private static func records(
        _ words: NotificationText,
        for audience: [AudienceMember],
        at index: Int
    ) -> [Entry<InboxRecord>] {
        audience.enumerated().map { position, listener in
            let user = listener.key.user
            let record = InboxRecord(words, for: user, follow: listener.follow, position: position)
            return Entry(index: index, work: record)
        }
    }

    /// The approximate size of a push in addition to the texts that it shares with others.
    private static let shipmentBytes = 1024
    /// The size limit of contents that are read again together, for notifications that existed already.
    private static let contents = 8 << 20
}
