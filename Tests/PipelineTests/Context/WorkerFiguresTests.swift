import Push
import ServiceRuntime
import Testing

@testable import Pipeline

@Suite("Figures of a worker")
struct WorkerFiguresTests {
    @Test("the figures sum up counters over all apps and group durations, under the registered metric names")
    func told() {
        let registry = MetricsRegistry()
        _ = (PipelineMetrics(registry), PushMetrics(registry))
        let help = "In-app records by outcome: recorded, duplicate, conflict, erased."
        let records = registry.counter("bellhop_notifications_total", help: help, labels: ["app", "outcome"])
        let states = registry.counter(
            "bellhop_deliveries_total",
            help: "Deliveries settled, by the state they were left in.",
            labels: ["app", "state"]
        )
        let batches = registry.histogram("bellhop_batch_seconds", help: "", bounds: Histogram.secondBounds)
        records.with("drop", "recorded").increment(by: 3)
        records.with("padel", "recorded").increment(by: 4)
        records.with("drop", "duplicate").increment(by: 9)
        states.with("drop", "delivered").increment(by: 2)
        states.with("drop", "accepted").increment()
        batches.observe(0.004, times: 2)
        batches.observe(60)
        let figures = WorkerFigures(registry).current
        #expect(figures["recorded"] == [7] && figures["delivered"] == [3] && figures["failed"] == [0])
        let stored: [Int] = [0, 0] + Array(repeating: 2, count: 12) + [3]
        #expect(figures["stored"] == stored)
        #expect(figures["pushed"] == Array(repeating: 0, count: 15))
        let text = registry.text()
        let names = ["notifications_total", "deliveries_total", "dead_lettered_total", "batch_seconds", "push_seconds"]
        for name in names { #expect(text.contains("bellhop_\(name)"), "\(name)") }
    }
}
