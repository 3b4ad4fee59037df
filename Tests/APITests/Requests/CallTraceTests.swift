import HTTPServer
import ServiceRuntime
import Testing

@testable import API
@testable import Tracing

@Suite("Traces of calls")
struct CallTraceTests {
    /// The span that is recorded for a call.
    private func span(_ said: String, isTrusted: Bool) throws -> Span {
        let settings = try #require(try TracingSettings.read(["OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"]))
        let tracer = Tracer(settings, registry: MetricsRegistry())
        var headers: HTTPHeaders = [:]
        if !said.isEmpty { headers["traceparent"] = said }
        let target = try #require(RequestTarget("/api/follows/venue:42?token=geheim"))
        let request = HTTPRequest(method: "PUT", target: target, headers: headers)
        tracer.record(request, "/api/follows/{topic}", 503, since: tracer.time.now(), isTrusted: isTrusted)
        return try #require(tracer.queue.take(1).first)
    }

    @Test("an untrusted caller's traceparent becomes a link, and affects neither the trace nor the sampling")
    func stranger() throws {
        let said = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        let span = try span(said, isTrusted: false)
        #expect(span.parent == nil)
        #expect(span.context.trace.text != "0af7651916cd43dd8448eb211c80319c")
        #expect(span.links.map(\.span.text) == ["b7ad6b7169203331"])
        let never = [
            "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_SAMPLER": "parentbased_always_off",
        ]
        let tracer = Tracer(try #require(try TracingSettings.read(never)), registry: MetricsRegistry())
        let request = HTTPRequest(
            method: "GET",
            target: try #require(RequestTarget("/")),
            headers: ["traceparent": said]
        )
        tracer.record(request, "/", 401, since: tracer.time.now(), isTrusted: false)
        #expect(tracer.queue.take(1).isEmpty)
        tracer.record(request, "/", 200, since: tracer.time.now(), isTrusted: true)
        #expect(tracer.queue.take(1).count == 1)
    }

    @Test(
        "a call's span is a child of the caller's span, or starts a trace if the traceparent is missing or malformed",
        arguments: ["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-x", ""]
    )
    func call(said: String) throws {
        let span = try span(said, isTrusted: true)
        #expect(span.name == "PUT /api/follows/{topic}")
        #expect(span.kind == .server)
        #expect(span.fault == "503")
        #expect(span.parent?.span.text == (said.count == 55 ? "b7ad6b7169203331" : nil))
        let words = "\(span)"
        #expect(!words.contains("geheim"))
        #expect(!words.contains("venue"))
    }
}
