import BellhopRules
import Postgres

extension Rows {
    /// Reads a time that Bellhop has written into JSON.
    fileprivate func writtenInstant(_ row: Int, _ column: Column) throws(PostgresError) -> Timestamp? {
        try optionalText(row, column).flatMap(Timestamp.init(validating:))
    }
}

extension DeliveryHistory {
    /// Creates a delivery from the columns of `NotificationHistoryStatements.lines`.
    init(_ rows: Rows, _ row: Int) throws(PostgresError) {
        channel = try rows.text(row, 0)
        target = try rows.text(row, 1)
        state = DeliveryState(rawValue: try rows.text(row, 2))
        reason = try rows.optionalText(row, 3)
        attempts = try rows.number(row, 4)
        unknownSends = try rows.number(row, 5)
        providerMessageID = try rows.optionalText(row, 6)
        dueAt = try rows.timestamp(row, 7)
        waitedUntil = try rows.writtenInstant(row, 8)
        digest = try rows.writtenInstant(row, 9)
        digestCompanions = max(0, try rows.number(row, 10) - 1)
        updatedAt = try rows.moment(row, 11)
        if let name = try rows.optionalText(row, 12), let queuedAt = try rows.timestamp(row, 13) {
            backlog = Backlog(name: name, queuedAt: queuedAt)
        } else {
            backlog = nil
        }
    }
}

extension KnownDevice {
    /// Creates a device from the columns of `NotificationHistoryStatements.devices`.
    init(_ rows: Rows, _ row: Int) throws(PostgresError) {
        subscription = try rows.text(row, 0)
        platform = try rows.text(row, 1)
        provider = try rows.text(row, 2)
        permission = try rows.optionalText(row, 3)
        registeredAt = try rows.moment(row, 4)
        lastSeenAt = try rows.moment(row, 5)
        revokedAt = try rows.timestamp(row, 6)
        revokeReason = try rows.optionalText(row, 7)
    }
}

extension NotificationHistory.Plan {
    /// Creates a plan from the columns of `NotificationHistoryStatements.plan`.
    init(_ rows: Rows, _ row: Int) throws(PostgresError) {
        type = try rows.optionalText(row, 0)
        sentAt = try rows.writtenInstant(row, 1)
        deliverAt = try rows.writtenInstant(row, 2)
        if let count = try rows.optionalInteger(row, 3) {
            audience = .named(count: Int(clamping: count), includesUser: try rows.optionalBoolean(row, 4) ?? false)
        } else if let topic = try rows.optionalText(row, 5) {
            audience = .topic(topic)
        } else {
            audience = type == nil ? nil : .everyone
        }
        keptAt = try rows.moment(row, 6)
        handedOverAt = try rows.timestamp(row, 7)
        expandedAt = try rows.timestamp(row, 8)
        cancelledAt = try rows.timestamp(row, 9)
        if let state = try rows.optionalText(row, 11).flatMap(FanoutState.init(rawValue:)),
            let startedAt = try rows.timestamp(row, 12)
        {
            fanout = NotificationHistory.Fanout(
                state: state,
                startedAt: startedAt,
                endedAt: try rows.timestamp(row, 13)
            )
        } else {
            fanout = nil
        }
        closing = try rows.optionalText(row, 10).flatMap(DueEvent.Closing.init(rawValue:))
    }
}

extension NotificationHistory.Erasure {
    /// Creates an erasure from the columns of `NotificationHistoryStatements.erasure`.
    init(_ rows: Rows, _ row: Int) throws(PostgresError) {
        erasedAt = try rows.moment(row, 0)
        returnedAt = try rows.timestamp(row, 1)
    }
}
