import Pipeline
import ServiceRuntime
import Store

/// How things stand with one installation at one moment, as far as it could be seen.
struct Status: Sendable {
    /// A part that was looked at.
    enum Sight<Value: Sendable>: Sendable {
        case seen(Value)
        /// Why it could not be looked at.
        case unseen(because: String)

        var value: Value? {
            if case .seen(let value) = self { value } else { nil }
        }

        var obstacle: String? {
            if case .unseen(let reason) = self { reason } else { nil }
        }
    }

    /// What the database tells.
    struct Database: Sendable {
        let schema: Migrator.Status
        /// Nil where the schema is not there or not ours.
        let store: StoreStatus?
        /// How far this shell's host is ahead of the database's clock; `nil` if that could not be compared.
        var clock: DatabaseClock.Comparison?
    }

    let namespace: Namespace
    let time: Instant
    let broker: Sight<[QueueStatus]>
    let database: Sight<Database>
    /// How the topology differs from the catalogues; nil where it takes more than could be seen to say so.
    let topologyDifferences: [String]?
    /// The fingerprint of this shell's catalogues; nil where it has none.
    var catalogs: String?
    /// Why this shell's catalogues cannot be read; nil where they can, or where it has none.
    var catalogObstacle: String?
    /// Why the management API told nothing; nil also where none is configured.
    let managementObstacle: String?

    var isDatabaseSeen: Bool { database.obstacle == nil }

    /// Schedulers at work; nil where it cannot be seen, since they leave their queue alone without the database.
    var schedulers: Int? {
        queue(.dead)?.counts.flatMap { $0.consumers > 0 || isDatabaseSeen ? Int($0.consumers) : nil }
    }

    /// Whether both halves could be looked at.
    var isWhole: Bool { broker.obstacle == nil && database.obstacle == nil }

    /// The queue for a purpose; nil where the broker could not be seen.
    func queue(_ purpose: QueueStatus.Purpose) -> QueueStatus? {
        broker.value?.first { $0.purpose == purpose }
    }
}
