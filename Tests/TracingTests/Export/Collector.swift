import BellhopJSON
import HTTPServer
import ServiceRuntime
import Synchronization
import TestSupport
import Testing

/// A collector on a loopback port that accepts only valid OTLP.
///
/// It can be told to answer with given responses.
final class Collector: Sendable {
    /// A received span, after validation.
    struct Received: Sendable {
        let trace: String
        let span: String
        let parent: String?
        let name: String
        let object: JSONValue
    }

    private struct State {
        var spans: [Received] = []
        var faults: [String] = []
        var script: [HTTPResponse] = []
        var requests = 0
        var headers: [String: String] = [:]
    }

    private let state = Mutex(State())

    var spans: [Received] { state.withLock { $0.spans } }
    /// The requests that were not valid OTLP.
    var faults: [String] { state.withLock { $0.faults } }
    var requests: Int { state.withLock { $0.requests } }

    /// The value of a header of the last request.
    func header(_ name: String) -> String? { state.withLock { $0.headers[name] } }

    /// Adds responses that are sent in turn, before the collector accepts a request.
    func answer(_ responses: [HTTPResponse]) {
        state.withLock { $0.script += responses }
    }

    /// Runs a body with a collector's URL.
    ///
    /// It expects at the end that every request was valid.
    static func with(_ body: (Collector, String) async throws -> Void) async throws {
        let collector = Collector()
        let place = try #require(ListenAddress("127.0.0.1:0"))
        let service = HTTPService(
            name: "collector",
            at: .init(place, from: "BELLHOP_METRICS_LISTEN"),
            limits: HTTPLimits(bodyBytes: 4 << 20),
            logger: Logger(label: "test", sink: CapturedLog())
        ) { request in collector.respond(to: request) }
        let drain = DrainSignal()
        let running = Task { try await service.run(until: drain) }
        try await eventually("it listens") { service.boundAddress != nil }
        let address = try #require(service.boundAddress)
        let result: Result<Void, any Error>
        do { result = .success(try await body(collector, "http://\(address)")) } catch { result = .failure(error) }
        drain.fire()
        try await running.value
        try result.get()
        #expect(collector.faults == [])
    }

    private func respond(to request: HTTPRequest) -> HTTPResponse {
        let scripted = state.withLock { state -> HTTPResponse? in
            state.requests += 1
            state.headers["x-key"] = request.headers["x-key"]
            return state.script.isEmpty ? nil : state.script.removeFirst()
        }
        if let scripted { return scripted }
        do {
            try take(request)
        } catch {
            state.withLock { $0.faults.append("\(error)") }
            return HTTPResponse(status: 400)
        }
        return .json(Array("{}".utf8))
    }

    private struct Fault: Error, CustomStringConvertible {
        let description: String
        init(_ description: String) { self.description = description }
    }

    private func take(_ request: HTTPRequest) throws {
        guard request.method == "POST", request.target.segments == ["v1", "traces"] else {
            throw Fault("another request")
        }
        guard request.headers["content-type"] == "application/json" else { throw Fault("no JSON") }
        let parsed = JSONParser(limits: .init(bytes: 4 << 20, depth: 32)).parse(request.body)
        guard case .success(let body) = parsed, let resources = body["resourceSpans"]?.array else {
            throw Fault("no resourceSpans")
        }
        var spans: [Received] = []
        for resource in resources {
            let attributes = resource["resource"]?["attributes"]?.array ?? []
            guard attributes.contains(where: { $0["key"]?.string == "service.name" }) else { throw Fault("no service") }
            for scope in resource["scopeSpans"]?.array ?? [] {
                spans += try (scope["spans"]?.array ?? []).map(Self.read)
            }
        }
        guard !spans.isEmpty else { throw Fault("an empty request") }
        state.withLock { $0.spans += spans }
    }

    private static func read(_ span: JSONValue) throws -> Received {
        guard let trace = span["traceId"]?.string, isHex(trace, 32), let id = span["spanId"]?.string, isHex(id, 16)
        else {
            throw Fault("ids that are none")
        }
        let parent = span["parentSpanId"]?.string
        if let parent, !isHex(parent, 16) { throw Fault("a parent that is none") }
        guard let kind = span["kind"]?.number?.int64, (1...5).contains(kind) else { throw Fault("no kind") }
        guard let start = span["startTimeUnixNano"]?.string.flatMap({ Int64($0) }),
            let end = span["endTimeUnixNano"]?.string.flatMap({ Int64($0) }), start <= end, start > 0
        else { throw Fault("times that are none") }
        for attribute in span["attributes"]?.array ?? [] {
            guard attribute["key"]?.string != nil, let value = attribute["value"]?.object, value.count == 1 else {
                throw Fault("an attribute that is none")
            }
            if let number = value["intValue"], number.string.flatMap({ Int64($0) }) == nil { throw Fault("no int") }
        }
        guard let name = span["name"]?.string, !name.isEmpty else { throw Fault("no name") }
        return Received(trace: trace, span: id, parent: parent, name: name, object: span)
    }

    private static func isHex(_ text: String, _ count: Int) -> Bool {
        text.utf8.count == count && text.utf8.allSatisfy { "0123456789abcdef".utf8.contains($0) }
            && text.contains { $0 != "0" }
    }
}
