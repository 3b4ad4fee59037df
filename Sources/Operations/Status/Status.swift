import Pipeline
package import ServiceRuntime
package import Settings
package import Store

/// The state of one installation at one moment, if it could be read.
package struct Status: Sendable {
    /// The values from the database.
    package struct Database: Sendable {
        package let schema: Migrator.Status
        /// `nil` if the schema is missing or does not match this program.
        package let store: StoreStatus?
        /// The offset of this host's clock from the database's clock, or `nil` if it could not be measured.
        var clock: DatabaseClock.Comparison?
    }

    /// The program that reads the status with its own catalogues.
    package enum Reader: String, Sendable {
        case shell = "this shell"
        case console = "the console"
    }

    package let namespace: Namespace
    package let time: Instant
    var reader = Reader.shell
    package let broker: Observed<[QueueStatus]>
    package let database: Observed<Database>
    /// The differences between topology and catalogues, or `nil` if they could not be determined.
    package let topologyDifferences: [String]?
    /// The fingerprint of the reader's catalogues, or `nil` if it has none.
    var catalogs: String?
    /// The reason why the reader's catalogues cannot be read, or `nil` if they can or if none are configured.
    var catalogObstacle: String?
    /// The rows that wait in the publisher's outbox, or `nil` if the reader knows of none.
    package var outbox: Observed<OutboxLag>?
    /// The reason why the management API gave no data, or `nil` if it did or if none is configured.
    let managementObstacle: String?

    /// The messages in retry queues without a delivery that waits for a retry; `nil` if the number is unknown.
    ///
    /// A delivery that is brought forward, or that ends meanwhile, leaves its message behind. The message has no effect
    /// when it returns. A message belongs to at least one delivery, so that the number is a lower bound.
    package var retryLeftovers: Int? {
        guard let owed = database.value?.store?.owed, let queues = broker.value else { return nil }
        guard owed.map(\.count).reduce(0, +) < StoreStatus.most else { return nil }
        let messages = queues.compactMap { queue in
            if case .retry = queue.purpose { queue.counts?.ready } else { nil }
        }
        let waiting = owed.filter { ["retrying", "sending"].contains($0.state) }.map(\.count).reduce(0, +)
        return max(0, messages.reduce(0, +) - waiting)
    }

    var isDatabaseSeen: Bool { database.obstacle == nil }

    /// The number of running schedulers.
    ///
    /// It is `nil` if it cannot be determined, since schedulers do not consume their queue without the database.
    var schedulers: Int? {
        queue(.dead)?.counts.flatMap { $0.consumers > 0 || isDatabaseSeen ? Int($0.consumers) : nil }
    }

    /// Whether both broker and database could be read.
    package var isWhole: Bool { broker.obstacle == nil && database.obstacle == nil }

    /// Returns the queue for a purpose, or `nil` if the broker could not be read.
    func queue(_ purpose: QueueStatus.Purpose) -> QueueStatus? {
        broker.value?.first { $0.purpose == purpose }
    }
}
