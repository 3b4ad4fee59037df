import BellhopRules

extension DeadLetterFilter {
    /// Returns whether an item in the broker's queue matches: the same conditions as in SQL, for use without the table.
    ///
    /// All items in the queue are open, ids match by prefix, and the caller applies the limit.
    package func matches(_ item: DeadLetterItem) -> Bool {
        let pairs = [
            (app, item.cause.app), (type, item.cause.eventType), (reason, item.cause.reason),
            (stage, item.cause.stage.rawValue),
            (provider, item.cause.provider), (fingerprint, item.fingerprint), (user, item.cause.user),
            (event, item.cause.eventID),
        ]
        for (wanted, found) in pairs {
            if let wanted, wanted != found { return false }
        }
        if let text {
            let places = [item.cause.error, item.cause.eventID ?? "", item.origin.routingKey].map { $0.lowercased() }
            guard places.contains(where: { $0.contains(text.lowercased()) }) else { return false }
        }
        if let since, item.failedAt < since { return false }
        if let until, item.failedAt >= until { return false }
        return ids.isEmpty || ids.contains { item.deadID.hasPrefix($0) }
    }
}
