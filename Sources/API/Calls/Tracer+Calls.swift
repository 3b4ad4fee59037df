import BellhopRules
import HTTPServer
import ServiceRuntime
import Tracing

extension Tracer {
    /// The span of a call, under that of its caller: which route it was and what was answered, and never who asked.
    func record(_ request: HTTPRequest, _ route: String, _ status: Int, since start: Instant) {
        let said = request.headers["traceparent"].flatMap {
            TraceParent(validating: $0, state: request.headers["tracestate"])
        }
        let parent = said.flatMap(SpanContext.init)
        guard let context = root(under: parent) else { return }
        var span = Span("\(request.method) \(route)", .server, context, under: parent, during: (start, time.now()))
        span.attributes = [
            ("http.request.method", .text(request.method)), ("http.route", .text(route)),
            ("http.response.status_code", .number(status)),
        ]
        if status >= 500 { span.fault = String(status) }
        record([span])
    }
}
