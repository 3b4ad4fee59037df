package import Pipeline
package import ServiceRuntime
package import Tracing

extension PipelineContext {
    /// A context with the machine's clock and random numbers, and a log of errors only.
    package static var test: PipelineContext { test(time: SystemTime(), chance: .system) }

    package static func test(
        time: any TimeSource,
        chance: RandomSource,
        tracer: Tracer? = nil
    ) -> PipelineContext {
        PipelineContext(
            time: time,
            chance: chance,
            logger: Logger(label: "test", level: .error, sink: StandardErrorSink(form: .text)),
            metrics: PipelineMetrics(MetricsRegistry()),
            tracer: tracer
        )
    }
}
