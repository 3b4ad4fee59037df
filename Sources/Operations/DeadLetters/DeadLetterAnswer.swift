package import BellhopJSON
package import BellhopRules
import Foundation
import ServiceRuntime
package import Store

/// One dead letter with its message, its history and the present state of its delivery.
package struct DeadLetterAnswer: Sendable {
    /// The notification and the ledger row of a delivery.
    package struct Event: Sendable {
        package let notification: StoredNotification?
        package let line: DeliveryHistory?
        /// The active holds that stop the delivery, if it waits behind one.
        package let holds: [OperatorHold]
    }

    package let detail: DeadLetterDetail
    package let event: Event?
    /// The differences between the stored event and this later one with the same id.
    package let conflict: [JSONEdits.Difference]
    /// Whether it shows personal data; otherwise they are masked.
    package let isRevealed: Bool
    package let now: Timestamp

    package init(
        _ detail: DeadLetterDetail,
        event: Event? = nil,
        conflict: [JSONEdits.Difference] = [],
        isRevealed: Bool = false,
        now: Timestamp
    ) {
        self.detail = detail
        self.event = event
        self.conflict = conflict
        self.isRevealed = isRevealed
        self.now = now
    }

    private var item: DeadLetterSummary { detail.summary }

    package var headers: JSONValue? {
        HumanText.document(detail.origin.headers).map { isRevealed ? $0 : MaskedJSON.headers($0) }
    }

    /// The body, or `nil` if it is not JSON.
    package var body: JSONValue? {
        HumanText.document(detail.origin.body).map { isRevealed ? $0 : MaskedJSON.body($0) }
    }

    package var json: JSONValue {
        var members = item.members
        members.append(("advice", .string(DeadLetterAdvice.words(for: item.cause, in: item.state))))
        members.append(("recommended", .string(DeadLetterAdvice.act(for: item.cause).rawValue)))
        members.append(("runbook", .string(DeadLetterAdvice.runbook(for: item.cause))))
        members.append(("conflict", .array(conflict.map { .string($0.place.text) })))
        members.append(("editedInto", .optional(detail.editedInto)))
        members.append(("revealed", .bool(isRevealed)))
        members.append(("origin", origin))
        if let line = event?.line {
            let ledger: [(String, JSONValue)] = [
                ("state", .optional(line.state?.rawValue)), ("reason", .optional(line.reason)),
                ("attempts", .int(line.attempts)),
                ("holds", .array((event?.holds ?? []).map { .int($0.number) })),
            ]
            members.append(("ledger", .members(ledger)))
        }
        let history = detail.history.map { entry in
            JSONValue.members([
                ("at", .string(entry.at.description)), ("kind", .string(entry.kind)), ("by", .optional(entry.operator)),
                ("words", .string(entry.words)),
            ])
        }
        members.append(("history", .array(history)))
        return .members(members)
    }

    private var origin: JSONValue {
        .members([
            ("exchange", .string(detail.origin.exchange)), ("routingKey", .string(detail.origin.routingKey)),
            ("properties", HumanText.document(detail.origin.properties) ?? .null),
            ("headers", headers ?? .null), ("bytes", .int(detail.origin.body.count)),
            ("bodyCut", .bool(detail.origin.cutBody != nil)),
            ("body", body ?? .null),
            ("bodyBase64", isRevealed ? .string(Data(detail.origin.body).base64EncodedString()) : .null),
        ])
    }
}
