import AMQP
import BellhopRules
import Push
import ServiceRuntime
import TestSupport
import Testing

@testable import Pipeline
@testable import Tracing

@Suite("Traces of a batch")
struct InMemoryTraceTests {
    private static let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    private static let busy = Verdict.retry(.unavailable, notBefore: .zero, scope: .message)

    private static func tracer() throws -> Tracer {
        let settings = try #require(try TracingSettings.read(["OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"]))
        return Tracer(settings, registry: MetricsRegistry())
    }

    private static func text(_ name: String, of span: Span) -> Span.Value? {
        span.attributes.first { $0.name == name }?.value
    }

    @Test("an event has one trace below its producer's: receipt, look-up, record, each attempt and retry")
    func whole() async throws {
        let tracer = try Self.tracer()
        let fixture = try InMemoryFixture(tracer: tracer)
        try fixture.person("u", device: "d")
        fixture.provider.answer([Self.busy])
        var properties = MessageProperties()
        properties.headers = ["traceparent": .string(Self.parent), "tracestate": .string("vendor=1")]
        await fixture.take([fixture.event("e", to: ["u"], properties)])
        await fixture.take(fixture.resumes())
        #expect(fixture.lines() == ["u d": "delivered"])
        let spans = tracer.taken()
        #expect(spans.map(\.name) == ["receive", "look up", "record", "send", "retry", "send"])
        let traces = Set(spans.map(\.context.trace.text))
        #expect(traces == ["0af7651916cd43dd8448eb211c80319c"])
        #expect(spans[0].parent?.span.text == "b7ad6b7169203331")
        #expect(spans[0].context.state == "vendor=1")
        let below = spans.filter { $0.parent?.span == spans[0].context.span }.map(\.name)
        #expect(below == ["look up", "record", "send", "retry"])
        #expect(spans[5].parent?.span == spans[4].context.span)
        #expect(Self.text("bellhop.outcome", of: spans[3]) == .text("retry"))
        #expect(spans[3].fault == "UNAVAILABLE")
        #expect(Self.text("bellhop.provider", of: spans[5]) == .text("fcm"))
        #expect(Self.text("bellhop.attempt", of: spans[5]) == .number(2))
        #expect(spans[5].fault == nil)
        #expect(Set(spans.map(\.context.span)).count == spans.count)
    }

    @Test("no span contains an event's user, its texts or its destination")
    func nothingPersonal() async throws {
        let tracer = try Self.tracer()
        let fixture = try InMemoryFixture(tracer: tracer)
        try fixture.person("geheim-user", device: "geheim-device")
        await fixture.take([fixture.event("e", to: ["geheim-user"], title: "geheim-title")])
        let spans = tracer.taken()
        #expect(spans.count == 4)
        #expect(!"\(spans)".contains("geheim"))
    }

    @Test("a redelivery after its worker's death is a span below the first receipt")
    func redelivered() async throws {
        let tracer = try Self.tracer()
        let fixture = try InMemoryFixture(tracer: tracer)
        try fixture.person("u", device: "d")
        await fixture.take([fixture.event("e", to: ["u"])])
        let first = try #require(tracer.taken().first)
        await fixture.take([fixture.event("e", to: ["u"], redelivered: true)])
        let second = try #require(tracer.taken().first)
        #expect(second.name == "receive")
        #expect(second.parent?.span == first.context.span)
        #expect(second.context.span != first.context.span)
    }

    @Test("an event that its producer does not sample leaves no span, and is sent")
    func unsampled() async throws {
        let tracer = try Self.tracer()
        let fixture = try InMemoryFixture(tracer: tracer)
        try fixture.person("u", device: "d")
        var properties = MessageProperties()
        properties.headers = ["traceparent": .string(String(Self.parent.dropLast()) + "0")]
        await fixture.take([fixture.event("e", to: ["u"], properties)])
        #expect(tracer.taken().isEmpty)
        #expect(fixture.provider.sent == ["d"])
    }
}

extension Tracer {
    /// Returns the spans that wait for their export.
    fileprivate func taken() -> [Span] { queue.take(.max) }
}
