package import BellhopRules

/// For what deliveries of a backlog wait.
package typealias BacklogKey = OutletPart

/// One priority of a backlog: what is urgent is pulled before the rest.
package struct BacklogPlace: Hashable, Sendable {
    package let key: BacklogKey
    package let priority: Priority

    package init(_ key: BacklogKey, _ priority: Priority) {
        self.key = key
        self.priority = priority
    }
}

/// Where a delivery is put that cannot be started.
package struct BacklogEntry: Hashable, Sendable {
    package let place: BacklogPlace
    /// Its turn: when it was recorded; nil for what was recorded by the very statement that claimed it, as the ledger knows.
    package let queuedAt: Timestamp?

    package init(_ place: BacklogPlace, queuedAt: Timestamp?) {
        self.place = place
        self.queuedAt = queuedAt
    }
}
