package import Postgres

/// Learns about commits that have added rows to an outbox, on a connection that is opened again whenever it is lost.
package final class OutboxListener: Sendable {
    private let listener: NotificationListener

    /// Starts immediately.
    package init(_ url: DatabaseURL) {
        var options = ListenerOptions(url: url, channels: [OutboxSchema.channel])
        options.applicationName = "bellhop relay, listening"
        listener = NotificationListener(options)
    }

    /// Calls `wake` after each commit, and after each gap in which a commit may have been missed, until it is closed.
    ///
    /// There must be one caller.
    package func attend(_ wake: @Sendable () -> Void) async {
        for await event in listener.events {
            switch event {
            case .listening, .notification, .overflowed: wake()
            case .interrupted: break
            }
        }
    }

    package func close() { listener.close() }
}
