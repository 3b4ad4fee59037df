import Foundation
import ServiceRuntime
import TestSupport
import Testing

@Suite("Metrics as Prometheus text")
struct MetricsTextTests {
    @Test("a registry is rendered in format 0.0.4, ordered and escaped")
    func golden() {
        let registry = MetricsRegistry()
        let events = registry.counter("bellhop_events_total", help: "Events taken in.", labels: ["app", "lane"])
        events.with("drop", "urgent").increment(by: 3)
        events.with("a\"b\\c\nd", "bulk").increment()
        registry.gauge("bellhop_held", help: "Messages held;\nback\\slash \"quoted\".").set(2.5)
        let batch = registry.histogram("bellhop_batch_seconds", help: "Time of a batch.", bounds: [0.1, 1])
        batch.observe(0.1)
        batch.observe(0.5, times: 2)
        batch.observe(7)
        registry.gauge("bellhop_ready", help: "Whether it is ready.") { 1 }
        registry.gauge("bellhop_absent", help: "Never there.") { nil }
        registry.callback("bellhop_lane_ready", .gauge, help: "Ready.", labels: ["lane"]) {
            [(["urgent"], 1), (["bulk"], .infinity)]
        }
        let expected = #"""
            # HELP bellhop_batch_seconds Time of a batch.
            # TYPE bellhop_batch_seconds histogram
            bellhop_batch_seconds_bucket{le="0.1"} 1
            bellhop_batch_seconds_bucket{le="1"} 3
            bellhop_batch_seconds_bucket{le="+Inf"} 4
            bellhop_batch_seconds_sum 8.1
            bellhop_batch_seconds_count 4
            # HELP bellhop_events_total Events taken in.
            # TYPE bellhop_events_total counter
            bellhop_events_total{app="a\"b\\c\nd",lane="bulk"} 1
            bellhop_events_total{app="drop",lane="urgent"} 3
            # HELP bellhop_held Messages held;\nback\\slash "quoted".
            # TYPE bellhop_held gauge
            bellhop_held 2.5
            # HELP bellhop_lane_ready Ready.
            # TYPE bellhop_lane_ready gauge
            bellhop_lane_ready{lane="bulk"} +Inf
            bellhop_lane_ready{lane="urgent"} 1
            # HELP bellhop_metric_label_overflows_total Uses of label values beyond a metric's cap, which were counted as other.
            # TYPE bellhop_metric_label_overflows_total counter
            bellhop_metric_label_overflows_total{metric="bellhop_events_total"} 0
            # HELP bellhop_ready Whether it is ready.
            # TYPE bellhop_ready gauge
            bellhop_ready 1

            """#
        #expect(registry.text() == expected)
    }

    @Test("the process metrics include memory, CPU time, descriptors and start time")
    func process() throws {
        let registry = MetricsRegistry()
        ProcessMetrics.register(in: registry)
        let values = try samples(registry.text())
        #expect(try #require(values["bellhop_process_resident_memory_bytes"]) > 1_000_000)
        #expect(try #require(values["bellhop_process_cpu_seconds_total"]) >= 0)
        #expect(try #require(values["bellhop_process_open_descriptors"]) >= 3)
        let age = Date().timeIntervalSince1970 - (try #require(values["bellhop_process_start_time_seconds"]))
        #expect(age > -2 && age < 86_400)
    }

    @Test("promtool accepts the text", .enabled(if: promtool != nil, "promtool is not installed"))
    func promtoolAccepts() throws {
        let registry = MetricsRegistry()
        ProcessMetrics.register(in: registry)
        registry.counter("bellhop_events_total", help: "Events taken in.", labels: ["app"]).with("ö\"\n").increment()
        registry.histogram("bellhop_batch_seconds", help: "Time of a batch.").observe(.milliseconds(3))
        try withTemporaryFile(registry.text()) { path in
            let process = Process()
            process.executableURL = URL(fileURLWithPath: try #require(promtool))
            process.arguments = ["check", "metrics"]
            process.standardInput = FileHandle(forReadingAtPath: path)
            process.standardOutput = FileHandle.nullDevice
            let complaints = Pipe()
            process.standardError = complaints
            try process.run()
            let text = String(decoding: try complaints.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
            process.waitUntilExit()
            #expect(process.terminationStatus == 0, "\(text)")
        }
    }

    private func samples(_ text: String) throws -> [String: Double] {
        let pairs = try text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { line in
            let words = line.split(separator: " ")
            return (String(words[0]), try #require(Double(words[1])))
        }
        return Dictionary(pairs) { first, _ in first }
    }
}

private let promtool = ["/usr/bin/promtool", "/usr/local/bin/promtool"].first(
    where: FileManager.default.isExecutableFile
)
