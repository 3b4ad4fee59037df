import BellhopRules
import Postgres
package import ServiceRuntime
import Store

/// The hub's continuous work.
extension LiveHub {
    package func run(until drain: DrainSignal) async throws {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.listen(until: drain) }
            group.addTask { await self.lookAround(until: drain) }
            group.addTask { await self.tick(until: drain) }
            group.addTask { await self.stayPresent(until: drain) }
        }
        end(streams.withLock { $0.close() }, .stopped)
        try? await presence.leave()
    }

    /// Receives the changed inboxes.
    ///
    /// After a period without a connection, all inboxes are read.
    private func listen(until drain: DrainSignal) async {
        let listener = NotificationListener(listener)
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await drain.wait()
                listener.close()
            }
            for await event in listener.events { self.hear(event) }
            group.cancelAll()
        }
    }

    private func hear(_ event: NotificationListener.Event) {
        switch event {
        case .notification(_, let payload):
            if payload == UserHash.everybody {
                streams.withLock { $0.enqueueAll() }
            } else if let signs = UserHash.read(payload) {
                streams.withLock { $0.enqueue(signs) }
            } else {
                return
            }
        case .listening, .overflowed: streams.withLock { $0.enqueueAll() }
        case .interrupted(let error, let pause):
            here.logger.warning("live streams receive no changes", ["error": .error(error), "again": .span(pause)])
        }
        ring.yield()
    }

    private func lookAround(until drain: DrainSignal) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await drain.wait()
                self.ring.finish()
            }
            for await _ in bell where !drain.isDraining { await lookAtQueue(until: drain) }
            group.cancelAll()
        }
    }

    /// The number of concurrent reads, limited because calls use the same connections.
    private static let looksAtOnce = 4

    /// Reads all queued inboxes.
    ///
    /// If the database is unavailable, the remaining ones wait for the next tick.
    private func lookAtQueue(until drain: DrainSignal) async {
        await keepPresence()
        while !drain.isDraining {
            let turn = streams.withLock { $0.takeQueue() }
            guard !turn.readers.isEmpty else { return }
            let left = await look(at: turn.readers, until: drain)
            guard left.isEmpty else {
                streams.withLock { $0.enqueue(left, turn.rank) }
                return
            }
        }
    }

    /// Reads these inboxes, several at the same time, and returns the users that could not be read now.
    private func look(at readers: [UserKey], until drain: DrainSignal) async -> [UserKey] {
        await withTaskGroup(of: [UserKey].self) { group in
            for first in 0..<min(Self.looksAtOnce, readers.count) {
                group.addTask {
                    var mine = stride(from: first, to: readers.count, by: Self.looksAtOnce).map { readers[$0] }[...]
                    while !drain.isDraining, let reader = mine.first, await self.look(reader) { mine.removeFirst() }
                    return Array(mine)
                }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
    }

    private func keepPresence() async {
        do {
            let isNeeded = openStreams > 0
            try await presence.keep(isNeeded: isNeeded, at: here.time.steady)
            // Only after the registration, because a poll of the notifier that started earlier may have missed it.
            if isNeeded { here.herald.expectListeners() }
        } catch {
            here.logger.warning("cannot register as a listener", ["error": .error(error)])
        }
    }

    private func stayPresent(until drain: DrainSignal) async {
        while !drain.isDraining, !Task.isCancelled {
            await drain.pause(for: pace.tick)
            await keepPresence()
        }
    }

    /// Sends heartbeats and ends streams.
    ///
    /// It never waits for the database, which may hang.
    private func tick(until drain: DrainSignal) async {
        while !drain.isDraining, !Task.isCancelled {
            await drain.pause(for: pace.tick)
            let now = LiveStreams.Moment(
                steady: here.time.steady(),
                date: here.time.timestamp,
                keys: here.issuers().mark
            )
            let isSettling = presence.isSettling(at: now.steady)
            let (endings, hasQueue) = streams.withLock { streams in
                let endings = streams.tick(pace, at: now)
                if isSettling { streams.enqueueAll() }
                return (endings, streams.hasQueue)
            }
            for (reason, streams) in endings { end(streams, reason) }
            if hasQueue { ring.yield() }
        }
    }
}

/// Reads one user's inbox.
extension LiveHub {
    /// The state before a read.
    private struct Asking {
        let before: InboxSnapshot?
        let joins: [UInt64: LiveStreams.NewSubscriber]
        /// Whether some stream's client has the previous state.
        let isFollowed: Bool

        init?(_ watch: LiveStreams.WatchedUser?) {
            guard let watch else { return nil }
            before = watch.glimpse
            joins = watch.streams.reduce(into: [:]) { joins, stream in joins[stream.number] = stream.joinsFrom }
            isFollowed = joins.count < watch.streams.count
        }
    }

    /// Reads a user's inbox and tells its streams.
    ///
    /// Returns false if no inbox can be read now.
    private func look(_ reader: UserKey) async -> Bool {
        guard let asking = Asking(streams.withLock({ $0.watches[reader] })) else { return true }
        do {
            try await look(reader, asking)
            return true
        } catch {
            here.logger.debug("cannot read an inbox", ["error": .error(error)])
            if error.isTransient { return false }
            streams.withLock { $0.fail(reader) }
            return true
        }
    }

    private func look(_ reader: UserKey, _ asking: Asking) async throws(StoreError) {
        guard let catalog = here.catalogs.current[reader.app] else { return }
        let glimpse = try await here.users.glimpse(of: reader, uncounted: catalog.uncountedTypes)
        let before = asking.isFollowed ? asking.before : nil
        let difference = before.map { InboxDifference(from: $0, to: glimpse) }
        var wanted = Set(difference?.arrived.suffix(LiveEventBuilder.mostArrivals) ?? [])
        for cursor in asking.joins.values.compactMap(\.cursor) {
            if case .arrived(let ids) = cursor.gap(to: glimpse) { wanted.formUnion(ids) }
        }
        let items = try await here.users.items(Array(wanted), of: reader)
        let exits = try await here.users.exits(of: difference?.gone ?? [], of: reader)
        let needsLanguage = catalog.hasActions && !items.isEmpty
        let language = needsLanguage ? try await here.users.settings(of: reader).locale : nil
        let news = LiveEventBuilder(after: glimpse, items: items, exits: exits, catalog: catalog, language: language)
        let events = difference.flatMap { difference in before.map { news.events(of: difference, since: $0) } } ?? []
        let joins = asking.joins.mapValues { news.events(since: $0.cursor) }
        let slow = streams.withLock { streams in
            streams.tell(
                reader,
                events.bytes,
                joins: joins.mapValues(\.bytes),
                glimpse,
                at: here.time.steady()
            )
        }
        for event in events + joins.values.joined() { metrics.told(event) }
        end(slow, .slow)
    }
}
