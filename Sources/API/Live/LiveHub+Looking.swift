import BellhopRules
import Postgres
package import ServiceRuntime
import Store

/// What the hub does all the time.
extension LiveHub {
    package func run(until drain: DrainSignal) async throws {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.listen(until: drain) }
            group.addTask { await self.lookAround(until: drain) }
            group.addTask { await self.tick(until: drain) }
        }
        end(streams.withLock { $0.close() }, .stopped)
        try? await presence.leave()
    }

    /// Hears whose inboxes have changed; after a time of not hearing everybody is looked at.
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
            guard let signs = InboxSign.read(payload) else { return }
            streams.withLock { $0.enqueue(signs) }
        case .listening, .overflowed: streams.withLock { $0.enqueueAll() }
        case .interrupted(let error, let pause):
            here.logger.warning("open streams hear nothing", ["error": .error(error), "again": .span(pause)])
        }
        ring.yield()
    }

    private func lookAround(until drain: DrainSignal) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await drain.wait()
                self.ring.finish()
            }
            for await _ in bell where !drain.isDraining { await lookAtQueue() }
            group.cancelAll()
        }
    }

    /// Looks that are under way at once: the connections of calls are the same.
    private static let looksAtOnce = 4

    private func lookAtQueue() async {
        await keepPresence()
        while true {
            let readers = streams.withLock { $0.takeQueue() }
            guard !readers.isEmpty else { return }
            await withTaskGroup(of: Void.self) { group in
                for first in 0..<min(Self.looksAtOnce, readers.count) {
                    group.addTask {
                        for place in stride(from: first, to: readers.count, by: Self.looksAtOnce) {
                            await self.look(readers[place])
                        }
                    }
                }
            }
        }
    }

    private func keepPresence() async {
        do {
            let isNeeded = openStreams > 0
            if isNeeded { here.herald.expectListeners() }
            try await presence.keep(isNeeded: isNeeded, at: here.time.steady())
        } catch {
            here.logger.warning("workers cannot be told that streams are open", ["error": .error(error)])
        }
    }

    private func tick(until drain: DrainSignal) async {
        while !drain.isDraining, !Task.isCancelled {
            await drain.pause(for: pace.tick)
            await keepPresence()
            let now = here.time.steady()
            let isSettling = presence.isSettling(at: now)
            let (tick, hasQueue) = streams.withLock { streams in
                let tick = streams.tick(pace, at: now, date: here.time.timestamp)
                if isSettling { streams.enqueueAll() }
                return (tick, streams.hasQueue)
            }
            end(tick.expired, .expired)
            end(tick.slow, .slow)
            if hasQueue { ring.yield() }
        }
    }
}

/// One look at one user.
extension LiveHub {
    /// What is known before a look.
    private struct Asking {
        let before: InboxGlimpse?
        let joins: [UInt64: LiveStreams.Join]
        /// Whether anybody knows what stood there before.
        let isFollowed: Bool

        init?(_ watch: LiveStreams.Watch?) {
            guard let watch else { return nil }
            before = watch.glimpse
            joins = watch.streams.reduce(into: [:]) { joins, stream in joins[stream.number] = stream.joinsFrom }
            isFollowed = joins.count < watch.streams.count
        }
    }

    private func look(_ reader: RecipientKey) async {
        guard let asking = Asking(streams.withLock({ $0.watches[reader] })) else { return }
        do {
            try await look(reader, asking)
        } catch {
            streams.withLock { $0.fail(reader) }
            here.logger.debug("an inbox cannot be looked at", ["error": .error(error)])
        }
    }

    private func look(_ reader: RecipientKey, _ asking: Asking) async throws(PostgresError) {
        let glimpse = try await here.desk.glimpse(of: reader)
        let before = asking.isFollowed ? asking.before : nil
        let difference = before.map { InboxDifference(from: $0, to: glimpse) }
        var wanted = Set(difference?.arrived.suffix(LiveNews.mostArrivals) ?? [])
        for cursor in asking.joins.values.compactMap(\.cursor) {
            if case .arrived(let ids) = cursor.gap(to: glimpse) { wanted.formUnion(ids) }
        }
        let items = try await here.desk.items(Array(wanted), of: reader)
        let exits = try await here.desk.exits(of: difference?.gone ?? [], of: reader)
        guard let catalog = here.catalogs.current[reader.app] else { return }
        let news = LiveNews(after: glimpse, items: items, exits: exits, catalog: catalog)
        let events = difference.flatMap { difference in before.map { news.events(of: difference, since: $0) } } ?? []
        let joins = asking.joins.mapValues { news.events(since: $0.cursor) }
        let slow = streams.withLock { streams in
            streams.tell(reader, events, joins: joins, glimpse, at: here.time.steady())
        }
        for event in events + joins.values.joined() { metrics.told(event) }
        end(slow, .slow)
    }
}
