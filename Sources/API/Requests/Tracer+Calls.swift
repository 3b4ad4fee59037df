import BellhopRules
import HTTPServer
import ServiceRuntime
import Tracing

extension Tracer {
    /// Records the span of a call: its route and its status, and never the user.
    ///
    /// The span is a child of the caller's span if the caller is trusted. The `traceparent` of any other caller is only
    /// a link, because it must not decide about sampling or about the trace.
    func record(_ request: HTTPRequest, _ route: String, _ status: Int, since start: Instant, isTrusted: Bool) {
        let said = request.headers["traceparent"].flatMap {
            TraceParent(validating: $0, state: request.headers["tracestate"])
        }
        let caller = said.flatMap(SpanContext.init)
        let parent = isTrusted ? caller : nil
        guard let context = root(under: parent) else { return }
        var span = Span("\(request.method) \(route)", .server, context, under: parent, during: (start, time.now()))
        if let caller, parent == nil { span.links = [caller] }
        span.attributes = [
            ("http.request.method", .text(request.method)), ("http.route", .text(route)),
            ("http.response.status_code", .number(status)),
        ]
        if status >= 500 { span.fault = String(status) }
        record([span])
    }
}
