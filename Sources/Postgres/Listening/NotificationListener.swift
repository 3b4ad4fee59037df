/// Hears what `NOTIFY` tells, on a connection of its own that is opened again whenever it is lost.
///
/// PostgreSQL keeps nothing for a listener that is away: after each `.listening` look at the tables once, since
/// anything may have been missed before it.
package final class NotificationListener: Sendable {
    /// What happens, in order.
    ///
    /// One consumer; when it goes away the listener closes.
    package let events: AsyncStream<Event>
    private let thread: ListenerThread

    package enum Event: Sendable {
        /// From now on everything is heard; what came before, the first time too, may have been missed.
        case listening
        case notification(channel: String, payload: String)
        /// More came in than the consumer took: some were dropped, so look at the tables as after `.listening`.
        case overflowed
        /// The connection is gone or could not be made; the next attempt follows after the time.
        case interrupted(PostgresError, retryIn: Duration)
    }

    /// Starts at once.
    ///
    /// Channel names are taken literally, capitals included, as `pg_notify` takes them.
    package init(_ options: ListenerOptions) {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Event.self,
            bufferingPolicy: .bufferingOldest(options.capacity)
        )
        let thread = ListenerThread(options, continuation)
        continuation.onTermination = { _ in thread.close() }
        events = stream
        self.thread = thread
        thread.start()
    }

    deinit {
        thread.close()
    }

    /// Ends the stream and closes the connection, shortly after this returns.
    package func close() {
        thread.close()
    }
}

/// What to listen to and how patiently.
package struct ListenerOptions: Sendable {
    package var url: DatabaseURL
    package var channels: [String]
    package var applicationName = "bellhop"
    /// Statements for each fresh connection, before it listens.
    package var setUp: [String] = []
    package var connectTimeout = Duration.seconds(5)
    /// After this long without a word the server is asked for one, so that a dead peer is noticed.
    package var heartbeat = Duration.seconds(30)
    /// Events that wait for the consumer before others are dropped.
    package var capacity = 4096
    package var observer: @Sendable (ServerNotice) -> Void = { _ in }

    package init(url: DatabaseURL, channels: [String]) {
        self.url = url
        self.channels = channels
    }

    var recipe: SessionRecipe {
        SessionRecipe(
            url: url,
            applicationName: applicationName,
            setUp: setUp + channels.map { "LISTEN \(Self.quoted($0))" },
            connectTimeout: connectTimeout,
            statementTimeout: .seconds(10),
            notice: observer,
            learnsHistory: false
        )
    }

    private static func quoted(_ name: String) -> String {
        var quoted = "\""
        for character in name.unicodeScalars where character != "\0" {
            quoted.unicodeScalars.append(character)
            if character == "\"" { quoted.unicodeScalars.append(character) }
        }
        return quoted + "\""
    }
}
