import BellhopRules
import Push
import ServiceRuntime
import Store
import Tracing

/// The spans of delivery attempts.
extension Dispatcher {
    /// Records one span per delivery with an answer.
    ///
    /// A badge has no event and therefore no trace.
    ///
    /// The span of a later attempt has a parent that begins with its claim. The first attempts of a wide event belong
    /// to its page's trace, and each later attempt has a separate trace. A single trace could have a million spans.
    func trace(
        _ shipments: [OutgoingDelivery],
        _ verdicts: [Verdict],
        by provider: String,
        on page: SpanContext?,
        since start: Instant
    ) {
        guard let tracer = context.tracer else { return }
        let (end, steady) = (tracer.time.now(), tracer.time.steady())
        var spans: [Span] = []
        var latest: (event: EventID, app: AppID, trace: SpanContext)?
        for (shipment, verdict) in zip(shipments, verdicts) where shipment.priority != nil {
            let origin: SpanContext
            if let latest, latest.event == shipment.event, latest.app == shipment.app {
                origin = latest.trace
            } else {
                origin = EventTrace(of: shipment.event, shipment.app, under: shipment.trace, tracer.sampler).context
                latest = (shipment.event, shipment.app, origin)
            }
            guard origin.isSampled else { continue }
            var parent: SpanContext? = page ?? (shipment.isWide ? nil : origin)
            if shipment.attempts > 0 {
                let claimed = shipment.lease?.start.map { end - $0.duration(to: steady) } ?? start
                let context = tracer.child(of: parent, like: origin)
                var retry = Span("retry", .within, context, under: parent, during: (claimed, end))
                retry.attributes = Self.attributes(shipment)
                if parent == nil { retry.links = [origin] }
                parent = retry.context
                spans.append(retry)
            }
            let context = tracer.child(of: parent, like: origin)
            var send = Span("send", .client, context, under: parent, during: (start, end))
            if parent == nil { send.links = [origin] }
            send.attributes = Self.attributes(shipment) + Self.attributes(verdict, provider)
            send.fault = verdict.reason?.rawValue
            spans.append(send)
        }
        tracer.record(spans)
    }

    private static func attributes(_ shipment: OutgoingDelivery) -> [Span.Attribute] {
        Span.attributes(shipment.app, shipment.ownType, shipment.event) + [
            ("bellhop.channel", .text(shipment.key.channel.rawValue)),
            ("bellhop.attempt", .number(shipment.attempts + 1)), ("bellhop.repeat", .flag(shipment.isRepeat)),
        ]
    }

    private static func attributes(_ verdict: Verdict, _ provider: String) -> [Span.Attribute] {
        [("bellhop.provider", .text(provider)), ("bellhop.outcome", .text(verdict.kind.rawValue))]
    }
}
