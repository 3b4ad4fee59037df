package import BellhopRules

/// What became of a claimed delivery.
package struct Settlement: Sendable {
    package var key: DeliveryKey
    package var state: DeliveryState
    package var reason: String?
    package var providerMessageID: String?
    /// Whether the attempt counts.
    package var burnsAttempt: Bool
    /// Whether the provider may have taken it although it is not known to have.
    package var outcomeIsUnknown = false
    /// From now on by the database's clock, for `retrying`, `deferred` and `accepted`.
    package var dueIn: Duration?
    /// Why it waits, where a rule says so.
    package var wait: Wait?
    /// When it was sent, for what was accepted just now.
    package var sentAt: Timestamp?
    /// The backlog that it waits in, for what is `deferred` until its outlet has room: such a line has no due time.
    package var backlog: BacklogEntry?

    /// The database fails on its user or its content alone, so that nothing can be decided about it.
    package static let lookUpFailed = "look-up-failed"

    package init(
        _ key: DeliveryKey,
        _ state: DeliveryState,
        reason: String? = nil,
        providerMessageID: String? = nil,
        burnsAttempt: Bool = true,
        dueIn: Duration? = nil
    ) {
        self.key = key
        self.state = state
        self.reason = reason
        self.providerMessageID = providerMessageID
        self.burnsAttempt = burnsAttempt
        self.dueIn = dueIn
    }
}
