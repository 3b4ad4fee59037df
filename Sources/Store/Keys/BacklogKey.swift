package import BellhopRules

/// The part of an outlet for which the deliveries of a backlog wait.
package typealias BacklogKey = OutletScope

/// One priority of a backlog: urgent deliveries are pulled before the others.
package struct BacklogPlace: Hashable, Sendable {
    package let key: BacklogKey
    package let priority: Priority

    package init(_ key: BacklogKey, _ priority: Priority) {
        self.key = key
        self.priority = priority
    }
}

/// The place of a delivery that cannot be started.
package struct BacklogEntry: Hashable, Sendable {
    package let place: BacklogPlace
    /// The delivery's turn, the time of recording; `nil` if the statement that recorded it also claimed it, since the
    /// ledger has that time.
    package let queuedAt: Timestamp?

    package init(_ place: BacklogPlace, queuedAt: Timestamp?) {
        self.place = place
        self.queuedAt = queuedAt
    }
}
