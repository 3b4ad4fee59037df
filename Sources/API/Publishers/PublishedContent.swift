import BellhopRules
import HTTPServer
import ServiceRuntime

/// The events of a request's body and headers, before they are checked.
///
/// It reads the three forms of the CloudEvents HTTP binding, and Bellhop's plain JSON.
struct PublishedContent {
    /// One envelope per event.
    let envelopes: [InboundEnvelope]
    /// Whether the body is a batch, so that a fault needs the number of its event.
    let isBatch: Bool

    /// The maximum number of events in a batch.
    static let mostEvents = 1_000
    /// The longest body.
    ///
    /// One event may have at most 256 KiB of it.
    static let longestBody = 2 << 20

    init(_ request: HTTPRequest, app: AppID) throws(APIError) {
        guard ["", "identity"].contains((request.headers["Content-Encoding"] ?? "").lowercased()) else {
            throw Self.unsupported("the body must not be encoded")
        }
        let trace = Self.trace(of: request)
        func envelope(_ body: [UInt8], _ type: String, _ headers: [(String, HeaderValue)] = []) -> InboundEnvelope {
            var envelope = InboundEnvelope(body: body, source: .elsewhere)
            envelope.contentType = type
            envelope.appID = app.text
            envelope.headers = headers + trace
            return envelope
        }
        switch Self.mediaType(of: request) {
        case Self.structured:
            (envelopes, isBatch) = ([envelope(request.body, Self.structured)], false)
        case Self.batch:
            guard let elements = EventBatch.elements(of: request.body, atMost: Self.mostEvents) else {
                throw APIError(400, "malformed-json", "expected a JSON array of CloudEvents")
            }
            guard elements.count <= Self.mostEvents else {
                throw APIError(413, "too-large", "too many events (limit \(Self.mostEvents))")
            }
            (envelopes, isBatch) = (elements.map { envelope($0, Self.structured) }, true)
        case Self.plain:
            (envelopes, isBatch) = ([envelope(request.body, Self.plain, try Self.attributes(of: request))], false)
        case nil where request.body.isEmpty:
            // A CloudEvent in binary form may have no data.
            (envelopes, isBatch) = ([envelope([], Self.plain, try Self.attributes(of: request))], false)
        default:
            throw Self.unsupported("the body must be \(Self.plain), \(Self.structured) or \(Self.batch)")
        }
    }

    private static let plain = "application/json"
    private static let structured = "application/cloudevents+json"
    private static let batch = "application/cloudevents-batch+json"

    private static func unsupported(_ message: String) -> APIError {
        APIError(415, "unsupported-media-type", message)
    }

    /// Returns the content type without parameters; `nil` if the request has none.
    private static func mediaType(of request: HTTPRequest) -> String? {
        request.headers["Content-Type"].map { $0.prefix { $0 != ";" }.lowercased().filter { $0 != " " } }
    }

    /// Returns the attributes of a CloudEvent in binary form, as headers of the AMQP binding.
    private static func attributes(of request: HTTPRequest) throws(APIError) -> [(String, HeaderValue)] {
        var attributes: [(String, HeaderValue)] = []
        for field in request.headers.fields where field.name.hasPrefix("ce-") {
            let name = String(field.name.dropFirst(3))
            guard let value = decoded(field.value) else {
                throw APIError(
                    422,
                    "invalid-field",
                    "expected text with percent-encoded UTF-8",
                    field: JSONPointer.root.key(name).text
                )
            }
            attributes.append(("cloudEvents_" + name, .string(value)))
        }
        return attributes
    }

    /// Decodes a header's value: a quoted string first, then one round of percent-encoding.
    ///
    /// Returns `nil` for an invalid escape, and for bytes that are not UTF-8.
    private static func decoded(_ value: String) -> String? {
        guard value.utf8.count >= 2, value.hasPrefix("\""), value.hasSuffix("\"") else {
            return PercentEncoding.decode(value.utf8)
        }
        var unquoted: [UInt8] = []
        var isEscaped = false
        for byte in value.utf8.dropFirst().dropLast() {
            if byte == UInt8(ascii: "\\"), !isEscaped {
                isEscaped = true
            } else {
                unquoted.append(byte)
                isEscaped = false
            }
        }
        return PercentEncoding.decode(unquoted)
    }

    /// Returns the caller's trace, which takes precedence over a trace in the event.
    private static func trace(of request: HTTPRequest) -> [(String, HeaderValue)] {
        guard let text = request.headers["traceparent"],
            let parent = TraceParent(validating: text, state: request.headers["tracestate"])
        else { return [] }
        return [("traceparent", .string(parent.text))] + (parent.state.map { [("tracestate", .string($0))] } ?? [])
    }
}
