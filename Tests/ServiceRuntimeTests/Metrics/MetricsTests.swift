import ServiceRuntime
import Testing

@Suite("Metrics")
struct MetricsTests {
    @Test("new label values beyond the cap count as other, and the overflow is counted")
    func overflow() {
        let registry = MetricsRegistry()
        let counter = registry.counter("bellhop_types_total", help: "Types.", labels: ["app", "type"], cap: 3)
        for index in 0..<10 {
            counter.with("drop", "type\(index)").increment(by: 2)
        }
        counter.with("drop", "type0").increment()
        #expect(counter.with("drop", "type0").value == 3)
        #expect(counter.with("other", "other").value == 14)
        let text = registry.text()
        #expect(text.contains("bellhop_types_total{app=\"other\",type=\"other\"} 14\n"))
        #expect(!text.contains("type3"))
        #expect(text.contains("bellhop_metric_label_overflows_total{metric=\"bellhop_types_total\"} 7\n"))
    }

    @Test("concurrent increments are all counted")
    func concurrency() async {
        let registry = MetricsRegistry()
        let counter = registry.counter("bellhop_many_total", help: "Many.", labels: ["lane"])
        let gauge = registry.gauge("bellhop_level", help: "Level.")
        let histogram = registry.histogram("bellhop_spans", help: "Spans.")
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<8 {
                group.addTask {
                    for _ in 0..<1_000 {
                        counter.with("lane\(index % 2)").increment()
                        gauge.add(index < 4 ? 1 : -1)
                        histogram.observe(.milliseconds(2))
                    }
                }
            }
        }
        #expect(counter.with("lane0").value == 4_000)
        #expect(counter.with("lane1").value == 4_000)
        #expect(gauge.value == 0)
        #expect(histogram.count == 8_000)
    }

    @Test("registering the same metric again returns the same metric")
    func registeredAgain() {
        let registry = MetricsRegistry()
        registry.counter("bellhop_twice_total", help: "Twice.").increment()
        registry.counter("bellhop_twice_total", help: "Twice.").increment()
        #expect(registry.counter("bellhop_twice_total", help: "Twice.").value == 2)
    }

    @Test("a counter never falls, and a histogram ignores a value that is not a number")
    func nonsense() {
        let registry = MetricsRegistry()
        let counter = registry.counter("bellhop_up_total", help: "Up.")
        counter.increment(by: 5)
        counter.increment(by: -3)
        counter.increment(by: .min)
        #expect(counter.value == 5)
        let histogram = registry.histogram("bellhop_nonsense", help: "Nonsense.")
        histogram.observe(.nan)
        histogram.observe(1, times: 0)
        histogram.observe(1, times: -1)
        #expect(histogram.count == 0)
        histogram.observe(.infinity)
        #expect(histogram.count == 1)
    }

    @Test("too few or too many label values count as other instead of ending the process")
    func wrongLabels() {
        let registry = MetricsRegistry()
        let counter = registry.counter("bellhop_wrong_total", help: "Wrong.", labels: ["app", "lane"])
        counter.with("drop").increment()
        counter.with("drop", "urgent", "more").increment()
        #expect(counter.with("other", "other").value == 2)
    }
}
