import BellhopJSON
import ServiceRuntime

/// Spans in OTLP's JSON.
///
/// It has ids in hex, 64-bit numbers as texts, member names in camel case, and enumerations as numbers.
struct OTLPDocument {
    private let resource: JSONValue
    private let scope: JSONValue

    /// Creates the document with the process's attributes, which each request contains.
    init(_ attributes: [Span.Attribute], version: String) {
        resource = ["attributes": Self.attributes(attributes)]
        scope = ["name": "bellhop", "version": .string(version)]
    }

    func bytes(of spans: [Span]) -> [UInt8] {
        let scoped: JSONValue = ["scope": scope, "spans": .array(spans.map(Self.span))]
        let body: JSONValue = ["resourceSpans": [["resource": resource, "scopeSpans": [scoped]]]]
        return JSONWriter.canonicalBytes(of: body)
    }

    private static func span(_ span: Span) -> JSONValue {
        var object = JSONObject([
            ("traceId", .string(span.context.trace.text)), ("spanId", .string(span.context.span.text)),
            ("name", .string(span.name)), ("kind", number(span.kind.rawValue)),
            ("startTimeUnixNano", nanoseconds(span.start)), ("endTimeUnixNano", nanoseconds(span.end)),
            ("attributes", attributes(span.attributes)), ("flags", flags(span.context, of: span.parent)),
        ])
        object["parentSpanId"] = span.parent.map { .string($0.span.text) }
        object["traceState"] = span.context.state.map { .string($0) }
        if !span.links.isEmpty { object["links"] = .array(span.links.map(link)) }
        if let fault = span.fault {
            object["status"] = ["code": number(Self.error), "message": .string(fault)]
        }
        return .object(object)
    }

    private static func link(_ context: SpanContext) -> JSONValue {
        [
            "traceId": .string(context.trace.text), "spanId": .string(context.span.text),
            "flags": flags(context, of: context),
        ]
    }

    /// Returns the trace flags, the flag that the origin of `other` is known, and the flag that it is another process.
    private static func flags(_ context: SpanContext, of other: SpanContext?) -> JSONValue {
        number((context.isSampled ? 1 : 0) | 0x100 | (other?.isRemote == true ? 0x200 : 0))
    }

    private static func attributes(_ attributes: [Span.Attribute]) -> JSONValue {
        .array(
            attributes.map { attribute -> JSONValue in
                let value: JSONValue =
                    switch attribute.value {
                    case .text(let text): ["stringValue": .string(String(text.prefix(longestText)))]
                    case .number(let number): ["intValue": .string(String(number))]
                    case .flag(let flag): ["boolValue": .bool(flag)]
                    }
                return ["key": .string(attribute.name), "value": value]
            }
        )
    }

    private static func nanoseconds(_ instant: Instant) -> JSONValue {
        let (product, isTooLarge) = max(0, instant.microseconds).multipliedReportingOverflow(by: 1_000)
        return .string(String(isTooLarge ? Int64.max : product))
    }

    private static func number(_ number: Int) -> JSONValue { .number(JSONNumber(Int64(number))) }

    private static let error = 2
    /// The maximum characters of a text attribute.
    ///
    /// An event's id may have this length; longer texts come from producers.
    private static let longestText = 256
}

/// A collector's answer to a request that it accepted only in part.
enum PartialSuccess {
    /// Returns the number of rejected spans; zero if the answer contains no readable number.
    static func refused(_ body: [UInt8]) -> Int {
        guard let answer = try? JSONParser(limits: .init(bytes: 1 << 16, depth: 8)).parse(body).get(),
            let said = answer["partialSuccess"]?["rejectedSpans"]
        else { return 0 }
        // A 64-bit number may be a JSON number or a string.
        let number = said.number?.int64 ?? said.string.flatMap { Int64($0) }
        return Int(clamping: max(0, number ?? 0))
    }
}
