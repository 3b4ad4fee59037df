package import BellhopRules
import Postgres

/// A place in a backlog and the turn from which to search; `nil` searches from the start.
///
/// Pulls leave dead entries at the head of the index until vacuum can remove them. A worker that remembers its last
/// turn does not read them.
package struct BacklogPoll: Sendable {
    package let place: BacklogPlace
    package let since: Timestamp?

    package init(_ place: BacklogPlace, since: Timestamp?) {
        self.place = place
        self.since = since
    }

    /// Returns the poll for these users: named ones may wait before the turn from which others are searched for.
    package func reaching(_ users: UserFilter) -> BacklogPoll {
        if case .only = users { BacklogPoll(place, since: nil) } else { self }
    }
}

/// The first delivery of each requested place, in the order of the request.
package struct OldestEntries: Sendable {
    /// The turn of the first waiting delivery; `nil` if none waits.
    package let oldest: [Timestamp?]
    /// The database clock.
    package let now: Timestamp

    package init(oldest: [Timestamp?], now: Timestamp) {
        self.oldest = oldest
        self.now = now
    }
}

/// The result of a pull.
package enum PullResult: Sendable {
    /// The claimed deliveries, the longest waiting first; empty if no available delivery waits.
    case lines([ClaimedDelivery])
    /// Another process is pulling from this backlog.
    case isBusy

    /// The claimed deliveries; `nil` if another process is pulling.
    package var lines: [ClaimedDelivery]? {
        if case .lines(let lines) = self { lines } else { nil }
    }
}

extension ClaimedDelivery {
    /// Creates a delivery from a row of a pull; `nil` for a row that only reports the lock.
    init?(pulled rows: Rows, _ row: Int) throws(PostgresError) {
        guard var recipient = UserKey(try rows.optionalText(row, 1), try rows.optionalText(row, 2)),
            let notification = try rows.optionalInteger(row, 3), let target = try rows.optionalInteger(row, 4)
        else { return nil }
        recipient.number = try rows.personNumber(row, 5)
        let key = DeliveryKey(
            NotificationKey(recipient: recipient, notification: NotificationID(number: notification)),
            target: target
        )
        self.init(
            key: key,
            attempts: try rows.number(row, 6),
            outcomeWasUnknown: try rows.integer(row, 7) > 0,
            digest: try rows.optionalText(row, 8).flatMap(Timestamp.init(validating:)),
            queuedAt: try rows.timestamp(row, 9),
            wasHeld: try rows.boolean(row, 10)
        )
    }
}
