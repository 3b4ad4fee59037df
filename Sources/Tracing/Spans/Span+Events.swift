package import BellhopRules

extension Span {
    /// Which event it is about; whom, no span says.
    package static func attributes(_ app: AppID, _ type: EventType, _ event: EventID) -> [Attribute] {
        [
            ("bellhop.app", .text(app.text)), ("bellhop.event.type", .text(type.text)),
            ("bellhop.event.id", .text(event.text)),
        ]
    }
}
