package import BellhopRules

/// An event that is stored until its expansion, since its audience is a topic or everyone, or since it is due later.
package struct PlannedEvent: Sendable {
    package let event: Event
    package let contentHash: ContentHash
    let priority: Priority
    /// The stored event, with the expiry from its type.
    private(set) var content: [UInt8]
    /// The same without `deliverAt`: the form that is published when due, and from which a fan-out is made.
    private(set) var body: String

    package init(event: Event, contentHash: ContentHash, priority: Priority, expiresAt: Timestamp?) {
        self.event = event
        self.contentHash = contentHash
        self.priority = priority
        content = event.plainForm(expiresAt: expiresAt)
        let published =
            event.deliverAt == nil ? content : event.plainForm(expiresAt: expiresAt, withoutDeliverAt: true)
        body = String(decoding: published, as: UTF8.self)
    }

    /// The size of the stored event in bytes.
    ///
    /// It includes fields from outside the received body.
    package var byteCount: Int { content.count }

    /// Whether it is expanded immediately: its audience is a topic or everyone, and it is not due later.
    package var isForNow: Bool {
        if case .users = event.audience { false } else { event.deliverAt == nil }
    }

    /// Returns the plan without these users; `nil` if no user remains.
    func without(_ people: Set<UserKey>) -> PlannedEvent? {
        guard let rest = DeadLetterAudience.body(content, without: people) else { return nil }
        var other = self
        other.content = rest
        if let rest = DeadLetterAudience.body(Array(body.utf8), without: people) {
            other.body = String(decoding: rest, as: UTF8.self)
        }
        return other
    }

    /// Returns the queries for erased users among the named users.
    func questions(_ index: Int) -> [ErasedUsers.Question] {
        guard case .users(let users) = event.audience else { return [] }
        return users.map { user in
            let person = UserKey(app: event.app, user: user)
            return ErasedUsers.Question(message: index, person: person, saidAt: event.sentAt)
        }
    }
}

/// An event that is due.
package struct DueEvent: Sendable {
    package let app: AppID
    package let id: EventID
    package let type: EventType
    /// The event as published, without `deliverAt`.
    package let body: [UInt8]
    /// The reason for closing the event; `nil` if it is to be published.
    package let closing: Closing?

    /// The reason why an event for a topic or for everyone is no longer expanded.
    package enum Closing: String, CaseIterable, Sendable {
        /// Its `expiresAt` has passed.
        case expired
        /// It waited too long for its expansion to be useful.
        case tooOld = "too-old"
    }
}

/// A producer's request not to send an event.
package struct EventCancellation: Sendable {
    package let app: AppID
    package let event: EventID

    package init(app: AppID, event: EventID) {
        self.app = app
        self.event = event
    }
}

/// The result of storing one plan.
package enum PlanOutcome: Sendable, Equatable {
    case kept
    case duplicate
    /// The id was stored with different content, which is kept.
    case conflict
    /// Its cancellation arrived first, or all users that it names were erased.
    case cancelled
}
