package import ServiceRuntime

/// One step of a trace that has come to its end.
package struct Span: Sendable {
    /// Whose side it is; the numbers are OTLP's.
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

    /// What the name of an attribute may stand for: an app, a type, an outcome; never anything of a user's.
    package typealias Attribute = (name: String, value: Value)

    package var context: SpanContext
    package var parent: SpanContext?
    package var name: String
    package var kind: Kind
    package var start: Instant
    package var end: Instant
    package var attributes: [Attribute]
    /// Others that it came of, in traces of their own.
    package var links: [SpanContext] = []
    /// Why it failed, in a word; nil where it did not.
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
}
