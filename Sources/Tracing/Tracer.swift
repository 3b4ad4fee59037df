package import ServiceRuntime

/// Where a process leaves its spans; nobody who has none of these makes any.
package final class Tracer: Sendable {
    package let sampler: Sampler
    package let time: any TimeSource
    private let chance: Chance
    let queue: SpanQueue
    private let metrics: SpanMetrics

    /// Who this process is.
    package struct Process: Sendable {
        let role: String
        let namespace: String
        let version: String
        let instance: String

        package init(role: String, namespace: String, version: String, instance: String) {
            (self.role, self.namespace) = (role, namespace)
            (self.version, self.instance) = (version, instance)
        }

        /// What each request says of it; what somebody has set stands in for ours.
        fileprivate func attributes(_ settings: TracingSettings) -> [Span.Attribute] {
            let own = [
                ("service.name", settings.service ?? "bellhop-\(role)"), ("service.namespace", namespace),
                ("service.version", version), ("service.instance.id", instance),
            ]
            let others = settings.attributes.filter { $0.name != "service.name" || settings.service == nil }
            let said = Set(others.map(\.name))
            return own.filter { !said.contains($0.0) }.map { ($0.0, .text($0.1)) }
                + others.map { ($0.name, .text($0.value)) }
        }
    }

    /// Spans that wait for the collector at most: some megabytes.
    private static let room = 4_096

    package convenience init(_ settings: TracingSettings, registry: MetricsRegistry) {
        self.init(settings, room: Self.room, metrics: SpanMetrics(registry))
    }

    init(
        _ settings: TracingSettings,
        room: Int,
        time: any TimeSource = SystemTime(),
        chance: Chance = .system,
        metrics: SpanMetrics
    ) {
        sampler = settings.sampler
        queue = SpanQueue(limit: room)
        (self.time, self.chance, self.metrics) = (time, chance, metrics)
    }

    /// A span that nobody has to find again, in a trace of its own that is kept like another.
    package func root(like other: SpanContext) -> SpanContext {
        SpanContext(
            trace: TraceID(high: chance.next(), low: chance.next()),
            span: SpanID(chance.next()),
            isSampled: other.isSampled
        )
    }

    /// The first span of this process below what somebody else said, or of a trace of its own; nil where it is not kept.
    package func root(under parent: SpanContext?) -> SpanContext? {
        let trace = parent?.trace ?? TraceID(high: chance.next(), low: chance.next())
        guard sampler.samples(trace, under: parent) else { return nil }
        var context = SpanContext(trace: trace, span: SpanID(chance.next()), isSampled: true)
        context.state = parent?.state
        return context
    }

    /// A span that nobody has to find again, below another.
    package func child(of parent: SpanContext) -> SpanContext {
        var child = parent
        child.isRemote = false
        child.span = SpanID(chance.next())
        return child
    }

    /// The same, and a root where there is no parent.
    package func child(of parent: SpanContext?, like other: SpanContext) -> SpanContext {
        parent.map { child(of: $0) } ?? root(like: other)
    }

    package func record(_ spans: [Span]) {
        guard !spans.isEmpty else { return }
        metrics.lost(queue.add(spans), .full)
    }

    /// Who sends them.
    package func exporter(
        _ settings: TracingSettings,
        of process: Process,
        rhythm: SpanExporter.Rhythm = .init(),
        logger: Logger
    ) throws -> SpanExporter {
        try SpanExporter(
            queue,
            OTLPDocument(process.attributes(settings), version: process.version),
            settings,
            rhythm,
            .init(chance: chance, logger: logger.labelled("spans"), metrics: metrics)
        )
    }
}
