package import ServiceRuntime

/// Collects the spans of a process; without a tracer, no spans are created.
package final class Tracer: Sendable {
    package let sampler: Sampler
    package let time: any TimeSource
    private let chance: RandomSource
    let queue: SpanQueue
    private let metrics: SpanMetrics

    /// The identity of this process.
    package struct Process: Sendable {
        let role: String
        let namespace: String
        let version: String
        let instance: String

        package init(role: String, namespace: String, version: String, instance: String) {
            (self.role, self.namespace) = (role, namespace)
            (self.version, self.instance) = (version, instance)
        }

        /// Returns the attributes in each request; configured attributes replace the defaults.
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

    /// The maximum number of spans that wait for the collector: some megabytes.
    private static let room = 4_096

    package convenience init(_ settings: TracingSettings, registry: MetricsRegistry) {
        self.init(settings, room: Self.room, metrics: SpanMetrics(registry))
    }

    init(
        _ settings: TracingSettings,
        room: Int,
        time: any TimeSource = SystemTime(),
        chance: RandomSource = .system,
        metrics: SpanMetrics
    ) {
        sampler = settings.sampler
        queue = SpanQueue(limit: room)
        (self.time, self.chance, self.metrics) = (time, chance, metrics)
    }

    /// Returns the context of a span that need not be found again, in a new trace that is kept under the same rule as
    /// `other`.
    package func root(like other: SpanContext) -> SpanContext {
        SpanContext(
            trace: TraceID(high: chance.next(), low: chance.next()),
            span: SpanID(chance.next()),
            isSampled: other.isSampled
        )
    }

    /// Returns the context of this process's first span, below `parent` or in a new trace; `nil` if the trace is not
    /// kept.
    package func root(under parent: SpanContext?) -> SpanContext? {
        let trace = parent?.trace ?? TraceID(high: chance.next(), low: chance.next())
        guard sampler.samples(trace, under: parent) else { return nil }
        var context = SpanContext(trace: trace, span: SpanID(chance.next()), isSampled: true)
        context.state = parent?.state
        return context
    }

    /// Returns the context of a span that need not be found again, below another span.
    package func child(of parent: SpanContext) -> SpanContext {
        var child = parent
        child.isRemote = false
        child.span = SpanID(chance.next())
        return child
    }

    /// Returns the same, or a root if there is no parent.
    package func child(of parent: SpanContext?, like other: SpanContext) -> SpanContext {
        parent.map { child(of: $0) } ?? root(like: other)
    }

    package func record(_ spans: [Span]) {
        guard !spans.isEmpty else { return }
        metrics.lost(queue.add(spans), .full)
    }

    /// Creates the exporter that sends the spans.
    package func exporter(
        _ settings: TracingSettings,
        of process: Process,
        rhythm: SpanExporter.Intervals = .init(),
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
