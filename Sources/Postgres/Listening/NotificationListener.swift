/// Receives the messages of `NOTIFY` on a dedicated connection, which is opened again whenever it is lost.
///
/// PostgreSQL keeps nothing for a disconnected listener. After each `.listening`, query the tables once, because any
/// earlier message may have been missed.
package final class NotificationListener: Sendable {
    /// The events, in order.
    ///
    /// There must be one consumer; the listener closes when it ends.
    package let events: AsyncStream<Event>
    private let thread: ListenerThread

    package enum Event: Sendable {
        /// From now on, every message is received.
        ///
        /// Earlier messages may have been missed, also before the first such event.
        case listening
        case notification(channel: String, payload: String)
        /// More messages arrived than the consumer took, and some were dropped.
        ///
        /// Query the tables as after `.listening`.
        case overflowed
        /// The connection was lost or could not be made; the next attempt starts after `retryIn`.
        case interrupted(PostgresError, retryIn: Duration)
    }

    /// Starts immediately.
    ///
    /// Channel names are used literally, including capitals, as in `pg_notify`.
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

    deinit { thread.close() }

    /// Ends the stream and closes the connection, shortly after this call returns.
    package func close() { thread.close() }
}

/// The settings of a listener: channels and time limits.
package struct ListenerOptions: Sendable {
    package var url: DatabaseURL
    package var channels: [String]
    package var applicationName = "bellhop"
    /// Statements for each new connection, before it listens.
    package var setUp: [String] = []
    package var connectTimeout = Duration.seconds(5)
    /// The silence after which the server is queried, so that a dead peer is detected.
    package var heartbeat = Duration.seconds(30)
    /// The number of events that may wait for the consumer before others are dropped.
    package var capacity = 4096
    package var observer: @Sendable (ServerNotice) -> Void = { _ in }

    package init(url: DatabaseURL, channels: [String]) {
        self.url = url
        self.channels = channels
    }

    var recipe: SessionOptions {
        SessionOptions(
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
