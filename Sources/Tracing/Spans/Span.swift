package import BellhopRules
package import ServiceRuntime

/// One finished step of a trace.
package struct Span: Sendable {
    /// The role of the process in the step, with OTLP's numbers.
    package enum Kind: Int, Sendable {
        case within = 1
        case server = 2
        case client = 3
        case producer = 4
        case consumer = 5
    }

    package enum Value: Sendable, Equatable {
        case text(String)
        case number(Int)
        case flag(Bool)
    }

    /// An attribute with a value such as an app, a type or an outcome; never a user's data.
    package typealias Attribute = (name: String, value: Value)

    package var context: SpanContext
    package var parent: SpanContext?
    package var name: String
    package var kind: Kind
    package var start: Instant
    package var end: Instant
    package var attributes: [Attribute]
    /// The spans that led to this one, in separate traces.
    package var links: [SpanContext] = []
    /// The reason for a failure, in one word; `nil` if there was none.
    package var fault: String?

    package init(
        _ name: String,
        _ kind: Kind,
        _ context: SpanContext,
        under parent: SpanContext? = nil,
        during time: (start: Instant, end: Instant)
    ) {
        self.name = name
        self.kind = kind
        self.context = context
        self.parent = parent
        start = time.start
        end = max(time.start, time.end)
        attributes = []
    }

    /// Returns the attributes that identify the event; no span identifies its users.
    package static func attributes(_ app: AppID, _ type: EventType, _ event: EventID) -> [Attribute] {
        [
            ("bellhop.app", .text(app.text)), ("bellhop.event.type", .text(type.text)),
            ("bellhop.event.id", .text(event.text)),
        ]
    }
}
