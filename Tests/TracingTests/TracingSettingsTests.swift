import BellhopRules
import ServiceRuntime
import Settings
import Testing

@testable import Tracing

@Suite("Tracing settings")
struct TracingSettingsTests {
    private static let endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"

    @Test("tracing is off without an endpoint, or if a setting disables it")
    func off() throws {
        let none: [[String: String]] = [
            [:], [Self.endpoint: ""], [Self.endpoint: "http://c", "OTEL_SDK_DISABLED": "true"],
            [Self.endpoint: "http://c", "OTEL_TRACES_EXPORTER": "none"],
        ]
        for environment in none {
            let settings = try TracingSettings.read(environment)
            #expect(settings == nil, "\(environment)")
        }
    }

    @Test("the general endpoint gets the path of traces, and the traces endpoint is used unchanged")
    func endpoints() throws {
        let base = try TracingSettings.read([Self.endpoint: "http://c:4318/"])
        #expect(base?.endpoint == "http://c:4318/v1/traces")
        let own = try TracingSettings.read(["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://c/x"])
        #expect(own?.endpoint == "https://c/x")
        #expect(own?.sampler == .usual)
    }

    @Test("all faults are reported together, without any value that may be a key")
    func faults() {
        let environment = [
            Self.endpoint: "collector:4317", "OTEL_EXPORTER_OTLP_TIMEOUT": "soon", "OTEL_TRACES_SAMPLER": "sometimes",
            "OTEL_EXPORTER_OTLP_HEADERS": "geheim",
        ]
        #expect(throws: ConfigurationFaults.self) { try TracingSettings.read(environment) }
        var grpc = OpenTelemetryReader([Self.endpoint: "http://c", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"])
        _ = grpc.settings()
        #expect(grpc.faults.map(\.key) == ["OTEL_EXPORTER_OTLP_PROTOCOL"])
        var reader = OpenTelemetryReader(environment.merging([Self.endpoint: "http://c"]) { $1 })
        _ = reader.settings()
        #expect(Set(reader.faults.map(\.key)).count == 3)
        let words = reader.faults.map(\.description).joined()
        #expect(!words.contains("geheim"))
    }

    @Test("a sampling ratio depends on the trace id, so that all processes agree, and a parent's decision is kept")
    func samplers() throws {
        let half = try #require(Sampler("parentbased_traceidratio", argument: "0.5"))
        let (low, high) = (TraceID(high: 1, low: 1 << 62), TraceID(high: 1, low: 3 << 62))
        #expect(half.samples(low, under: nil))
        #expect(!half.samples(high, under: nil))
        let parent = SpanContext(trace: high, span: SpanID(1), isSampled: true)
        #expect(half.samples(high, under: parent))
        let own = try #require(Sampler("traceidratio", argument: "0.5"))
        #expect(!own.samples(high, under: parent))
        #expect(Sampler("traceidratio", argument: "2") == nil)
        #expect(Sampler("always_off", argument: nil)?.samples(low, under: parent) == false)
    }

    @Test("an event's span context is always the same, and is a child of the producer's span if there is one")
    func eventTrace() throws {
        let (event, app) = (try #require(EventID(validating: "e1")), try #require(AppID(validating: "drop")))
        let own = EventTrace(of: event, app, under: nil, .usual)
        #expect(own == EventTrace(of: event, app, under: nil, .usual))
        #expect(own.parent == nil)
        #expect(own.context.isSampled)
        let other = EventTrace(of: try #require(EventID(validating: "e2")), app, under: nil, .usual)
        #expect(other.context.trace != own.context.trace)
        let said = try #require(
            TraceParent(validating: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", state: "v=1")
        )
        let theirs = EventTrace(of: event, app, under: said, .usual)
        #expect(theirs.context.trace.text == "0af7651916cd43dd8448eb211c80319c")
        #expect(theirs.parent?.span.text == "b7ad6b7169203331")
        #expect(theirs.context.state == "v=1")
        #expect(!theirs.context.isSampled)
    }
}
