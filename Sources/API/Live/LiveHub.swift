import BellhopRules
import HTTPServer
package import Postgres
package import ServiceRuntime
package import Settings
package import Store
import Synchronization

/// The open streams of this process.
///
/// It receives the users whose inboxes have changed, reads these inboxes, and sends events to the clients.
///
/// One read serves all streams of a user. The events are the difference between two reads. They therefore do not depend
/// on the cause of a change, and a change without an announcement is only reported later.
package final class LiveHub: Service {
    /// The hub's dependencies.
    package struct Context: Sendable {
        let users: UserStore
        let book: ListenerStore
        let catalogs: CatalogSource
        let issuers: @Sendable () -> TrustedIssuers
        let herald: InboxChangeNotifier
        let time: any TimeSource
        let chance: RandomSource
        let logger: Logger

        package init(
            users: UserStore,
            book: ListenerStore,
            catalogs: CatalogSource,
            issuers: @escaping @Sendable () -> TrustedIssuers,
            herald: InboxChangeNotifier,
            time: any TimeSource = SystemTime(),
            chance: RandomSource = .system,
            logger: Logger
        ) {
            self.users = users
            self.book = book
            self.catalogs = catalogs
            self.issuers = issuers
            self.herald = herald
            self.time = time
            self.chance = chance
            self.logger = logger
        }
    }

    package let name = "live streams"
    let here: Context
    let listener: ListenerOptions
    let metrics: LiveMetrics
    let streams: Mutex<LiveStreams>
    let pace: StreamIntervals
    private let limits: LiveLimits
    let bell: AsyncStream<Void>
    let ring: AsyncStream<Void>.Continuation
    let presence: ListenerRegistration

    /// Creates a hub.
    ///
    /// `listener` is the connection for change notifications. Its channel is set here.
    package convenience init(
        _ here: Context,
        listener: ListenerOptions,
        limits: LiveLimits = LiveLimits(),
        metrics: MetricsRegistry
    ) {
        self.init(here, listener: listener, limits: limits, pace: StreamIntervals(), metrics: metrics)
    }

    init(
        _ here: Context,
        listener: ListenerOptions,
        limits: LiveLimits,
        pace: StreamIntervals,
        metrics: MetricsRegistry
    ) {
        var listener = listener
        listener.channels = [here.book.channel]
        self.here = here
        self.listener = listener
        self.limits = limits
        self.pace = pace
        self.metrics = LiveMetrics(metrics)
        streams = Mutex(LiveStreams(chance: here.chance))
        var chance = here.chance
        presence = ListenerRegistration(book: here.book, process: .random(in: 1 ... .max, using: &chance), pace: pace)
        (bell, ring) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        self.metrics.readStreams { [weak self] in self.map { Double($0.openStreams) } }
    }

    /// The number of open streams.
    package var openStreams: Int { streams.withLock { $0.count } }

    /// Announces a change of a user's inbox by a call of this process.
    package func changed(_ reader: UserKey) { here.herald.changed([reader]) }

    /// The number of pieces that may wait for a client, in addition to the server's buffer.
    private static let mostPieces = 32

    /// Opens a stream.
    ///
    /// It sends the events since `cursor`, and then each new event.
    func open(_ reader: UserKey, since cursor: InboxCursor?, _ hold: StreamLifetime) throws(APIError) -> HTTPResponse {
        let (stream, out) = AsyncStream.makeStream(
            of: [UInt8].self,
            bufferingPolicy: .bufferingOldest(Self.mostPieces)
        )
        let join = cursor.map(LiveStreams.NewSubscriber.withCursor) ?? .withNothing
        var chance = here.chance
        out.yield(LiveEvent.opening(chance: .random(in: 0..<1, using: &chance)))
        let added = streams.withLock {
            $0.add(out, of: reader, join, bounded(hold), limits, at: here.time.steady())
        }
        switch added {
        case .failure(let refusal):
            metrics.refused(refusal)
            throw APIError(refusal)
        case .success(let number):
            out.onTermination = { [weak self] _ in
                self?.streams.withLock { $0.remove(number, of: reader) }
            }
        }
        ring.yield()
        var response = HTTPResponse.events(stream)
        // A proxy that buffers answers would delay every event.
        response.headers["X-Accel-Buffering"] = "no"
        return response
    }

    /// Limits a stream's lifetime, since a token check must not remain valid indefinitely.
    ///
    /// Streams that began together end at different times.
    private func bounded(_ hold: StreamLifetime) -> StreamLifetime {
        var chance = here.chance
        let life = pace.life * Double.random(in: 0.9...1, using: &chance)
        let end = Timestamp(clamping: here.time.timestamp.microseconds + life.microseconds)
        return StreamLifetime(until: min(hold.until, end), keys: hold.keys)
    }

    /// Ends streams.
    ///
    /// It must be called without the lock, because the streams' end handlers take it.
    func end(_ ending: [LiveStreams.Stream], _ reason: LiveMetrics.Ending) {
        for stream in ending {
            streams.withLock { $0.remove(stream.number, of: stream.reader) }
            stream.out.finish()
            metrics.ended(reason)
        }
    }
}

extension APIError {
    fileprivate init(_ refusal: LiveStreams.Refusal) {
        switch refusal {
        case .tooManyOfUser:
            self = APIError(429, "too-many-streams", "too many streams for this user")
                .with("Retry-After", "5")
        case .tooMany:
            self = APIError(503, "too-many-streams", "too many streams on this server")
                .with("Retry-After", "5")
        case .closed:
            self = APIError(503, "stopping", "shutting down").with("Retry-After", "1")
        }
    }
}
