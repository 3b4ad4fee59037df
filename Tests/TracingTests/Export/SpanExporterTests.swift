import BellhopJSON
import BellhopRules
import HTTPServer
import ServiceRuntime
import TestSupport
import Testing

@testable import Tracing

@Suite("Export of spans", .timeLimit(.ofTest))
struct SpanExporterTests {
    private static let start = Instant(seconds: 1_700_000_000)

    /// Runs a body with a tracer whose exporter is running, with short intervals.
    private static func with(
        _ url: String,
        room: Int = 100,
        registry: MetricsRegistry,
        _ body: (Tracer) async throws -> Void
    ) async throws {
        let environment = ["OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_EXPORTER_OTLP_HEADERS": "x-key=s%20t"]
        let settings = try #require(try TracingSettings.read(environment))
        let tracer = Tracer(settings, room: room, metrics: SpanMetrics(registry))
        var rhythm = SpanExporter.Intervals()
        rhythm.interval = .milliseconds(20)
        rhythm.firstPause = .milliseconds(10)
        rhythm.longestPause = .milliseconds(200)
        rhythm.attempts = 3
        rhythm.flush = LongestWait.duration
        let process = Tracer.Process(role: "worker", namespace: "bellhop", version: "0", instance: "i")
        let logger = Logger(label: "test", sink: CapturedLog())
        let exporter = try tracer.exporter(settings, of: process, rhythm: rhythm, logger: logger)
        let drain = DrainSignal()
        let running = Task { try await exporter.run(until: drain) }
        let result: Result<Void, any Error>
        do { result = .success(try await body(tracer)) } catch { result = .failure(error) }
        drain.fire()
        try await running.value
        await exporter.flush()
        try result.get()
    }

    private static func span(_ name: String, _ tracer: Tracer) throws -> Span {
        let context = try #require(tracer.root(under: nil))
        return Span(name, .within, context, during: (start, start + .milliseconds(5)))
    }

    private static func count(_ name: String, in registry: MetricsRegistry) -> Int {
        let line = registry.text().split(separator: "\n").first { $0.hasPrefix(name) }
        return line?.split(separator: " ").last.flatMap { Double($0) }.map { Int($0) } ?? 0
    }

    @Test("a span arrives with ids, parent, links, attributes, flags and status, and with the collector's key")
    func arrives() async throws {
        let registry = MetricsRegistry()
        try await Collector.with { collector, url in
            try await Self.with(url, registry: registry) { tracer in
                var (first, second) = (try Self.span("one", tracer), try Self.span("two", tracer))
                second.links = [first.context]
                second.attributes = [("a", .text("x")), ("b", .number(7)), ("c", .flag(true))]
                second.fault = "UNAVAILABLE"
                first.parent = SpanContext(try #require(TraceParent(validating: Self.parent, state: "v=1")))
                tracer.record([first, second])
                try await eventually("they arrive") { collector.spans.count == 2 }
                let (one, two) = (collector.spans[0], collector.spans[1])
                #expect(one.trace == first.context.trace.text)
                #expect(one.parent == "b7ad6b7169203331")
                #expect(one.object["flags"]?.number?.int64 == 0x301)
                #expect(one.object["startTimeUnixNano"]?.string == "1700000000000000000")
                #expect(two.parent == nil)
                #expect(two.object["links"]?.array?.first?["spanId"]?.string == one.span)
                #expect(two.object["status"]?["code"]?.number?.int64 == 2)
                let kinds = (two.object["attributes"]?.array ?? []).map { $0["value"]?.object?.members.first?.key }
                #expect(kinds == ["stringValue", "intValue", "boolValue"])
                #expect(collector.header("x-key") == "s t")
            }
        }
        #expect(Self.count("bellhop_spans_exported_total", in: registry) == 2)
    }

    private static let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    @Test("spans are sent again while the collector is busy, and rejected spans are dropped and counted")
    func troubles() async throws {
        let registry = MetricsRegistry()
        try await Collector.with { collector, url in
            try await Self.with(url, registry: registry) { tracer in
                let busy = HTTPResponse(status: 429, headers: ["Retry-After": "0"])
                collector.answer([busy, HTTPResponse(status: 503)])
                tracer.record([try Self.span("late", tracer)])
                try await eventually("it arrives") { collector.spans.count == 1 }
                #expect(collector.requests == 3)
                collector.answer([HTTPResponse(status: 400)])
                tracer.record([try Self.span("refused", tracer)])
                try await eventually("it is dropped") {
                    Self.count(#"bellhop_spans_dropped_total{reason="refused"}"#, in: registry) == 1
                }
                #expect(collector.requests == 4)
                collector.answer([.json(Array(#"{"partialSuccess":{"rejectedSpans":"1"}}"#.utf8))])
                tracer.record([try Self.span("half", tracer), try Self.span("half", tracer)])
                try await eventually("one is dropped") {
                    Self.count(#"bellhop_spans_dropped_total{reason="refused"}"#, in: registry) == 2
                }
                #expect(Self.count("bellhop_spans_exported_total", in: registry) == 2)
                // Three attempts at most.
                collector.answer(Array(repeating: HTTPResponse(status: 503), count: 3))
                tracer.record([try Self.span("lost", tracer)])
                try await eventually("it is given up") {
                    Self.count(#"bellhop_spans_dropped_total{reason="unreachable"}"#, in: registry) == 1
                }
            }
        }
    }

    @Test("a bounded number of spans is kept while the collector is unreachable, and recording never waits")
    func away() async throws {
        let registry = MetricsRegistry()
        try await Self.with("http://127.0.0.1:1", room: 10, registry: registry) { tracer in
            for _ in 0..<200 { tracer.record([try Self.span("x", tracer)]) }
            let lost = Self.count(#"bellhop_spans_dropped_total{reason="full"}"#, in: registry)
            #expect(lost > 0)
        }
        let all = ["full", "unreachable"].map {
            Self.count(#"bellhop_spans_dropped_total{reason="\#($0)"}"#, in: registry)
        }
        #expect(all.reduce(0, +) == 200)
    }

    @Test("the last recorded spans are exported when the process ends")
    func flush() async throws {
        let registry = MetricsRegistry()
        try await Collector.with { collector, url in
            let settings = try #require(try TracingSettings.read(["OTEL_EXPORTER_OTLP_ENDPOINT": url]))
            let tracer = Tracer(settings, registry: registry)
            let process = Tracer.Process(role: "api", namespace: "bellhop", version: "0", instance: "i")
            let exporter = try tracer.exporter(settings, of: process, logger: Logger(label: "t", sink: CapturedLog()))
            tracer.record([try Self.span("last", tracer)])
            await exporter.flush()
            #expect(collector.spans.map(\.name) == ["last"])
        }
    }
}
