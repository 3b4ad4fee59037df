package import BellhopRules

extension Span {
    /// Returns the attributes that identify the event; no span identifies its users.
    package static func attributes(_ app: AppID, _ type: EventType, _ event: EventID) -> [Attribute] {
        [
            ("bellhop.app", .text(app.text)), ("bellhop.event.type", .text(type.text)),
            ("bellhop.event.id", .text(event.text)),
        ]
    }
}
