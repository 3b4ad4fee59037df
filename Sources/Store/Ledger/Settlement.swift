package import BellhopRules

/// The outcome of a claimed delivery.
package struct Settlement: Sendable {
    package var key: DeliveryKey
    package var state: DeliveryState
    package var reason: String?
    package var providerMessageID: String?
    /// Whether the attempt counts towards the retry limit.
    package var burnsAttempt: Bool
    /// Whether the provider may have accepted the delivery without a known answer.
    package var outcomeIsUnknown = false
    /// The wait until the delivery is due, by the database clock, for `retrying`, `deferred` and `accepted`.
    package var dueIn: Duration?
    /// The wait that a rule requires, with its reason.
    package var wait: Wait?
    /// When the delivery was sent, if it was accepted just now.
    package var sentAt: Timestamp?
    /// The backlog of a delivery that is `deferred` until its outlet has capacity.
    ///
    /// Such a delivery has no due time.
    package var backlog: BacklogEntry?

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
