import AMQP
import BellhopRules
import ServiceRuntime
import Store
import Tracing

/// The spans of intake. They are separate from the processing of a batch and exist only if tracing is on.
extension Intake {
    /// The names of an event and the data for its spans.
    private struct Taken {
        let app: AppID
        let type: EventType
        let event: EventID
        let trace: TraceParent?
        /// The position of its message.
        let index: Int
        /// The number of named users; `nil` if the event is stored for later or for a wide audience.
        var users: Int?

        /// Reads the names from a notification, whose event would have to be made again.
        init(_ words: NotificationText, index: Int, users: Int) {
            (app, type, event) = (words.app, words.content.type, words.content.event)
            trace = words.content.trace
            self.index = index
            self.users = users
        }

        init(_ event: Event, index: Int) {
            (app, type, self.event) = (event.app, event.type, event.id)
            trace = event.traceParent
            self.index = index
        }
    }

    /// Records one receipt span per event of a batch, with its processing steps.
    func trace(_ parsed: ParsedBatch, of messages: [IncomingMessage], _ batch: Batch, since start: Instant) {
        guard let tracer = context.tracer, let steps = batch.steps else { return }
        let end = tracer.time.now()
        var spans: [Span] = []
        for taken in Self.taken(parsed) {
            let trace = EventTrace(of: taken.event, taken.app, under: taken.trace, tracer.sampler)
            guard trace.context.isSampled else { continue }
            let isCopy = parsed.replacements.contains(taken.index)
            // A second receipt has a separate span, because the first may have been exported before its worker died.
            let context = isCopy ? tracer.child(of: trace.context) : trace.context
            let parent = isCopy ? trace.context : trace.parent
            var receipt = Span("receive", .consumer, context, under: parent, during: (start, end))
            receipt.attributes =
                Span.attributes(taken.app, taken.type, taken.event) + [
                    ("messaging.system", .text("rabbitmq")), ("messaging.operation.type", .text("process")),
                    ("messaging.destination.name", .text(messages[taken.index].queue)),
                    ("messaging.batch.message_count", .number(messages.count)),
                    ("bellhop.lane", .text(batch.lane.rawValue)), ("bellhop.redelivered", .flag(isCopy)),
                ]
            if let users = taken.users { receipt.attributes.append(("bellhop.users", .number(users))) }
            spans.append(receipt)
            if taken.users != nil { spans += Self.steps(steps, under: context, tracer) }
        }
        tracer.record(spans)
    }

    private static func taken(_ parsed: ParsedBatch) -> [Taken] {
        parsed.messages.indices.compactMap { index in
            switch parsed.messages[index] {
            case .event(let records):
                records.first.map {
                    Taken(parsed.records[$0].work.words, index: index, users: records.count)
                }
            case .plan(let plan): Taken(plan.event, index: index)
            case .cancellation, .feed, .resume, .badges, .page, .invalid, .ignored: nil
            }
        }
    }

    /// Records the page of a fan-out in a separate trace, with a link to its event's trace.
    ///
    /// The page's pushes belong to this trace.
    func trace(_ page: FanoutPage, of words: NotificationText, users: Int, _ batch: Batch) -> SpanContext? {
        guard let tracer = context.tracer, let steps = batch.steps else { return nil }
        let content = words.content
        let origin = EventTrace(of: content.event, words.app, under: content.trace, tracer.sampler).context
        guard origin.isSampled else { return nil }
        let own = tracer.root(like: origin)
        let taken = steps.all
        let end = tracer.time.now()
        var span = Span("page", .consumer, own, during: (taken.map(\.start).min() ?? end, end))
        span.links = [origin]
        span.attributes =
            Span.attributes(words.app, content.type, content.event) + [
                ("bellhop.fanout", .number(Int(clamping: page.fanout))),
                ("bellhop.page", .number(Int(clamping: page.page))),
                ("bellhop.users", .number(users)), ("bellhop.lane", .text(batch.lane.rawValue)),
            ]
        tracer.record([span] + Self.steps(steps, under: own, tracer))
        return own
    }

    private static func steps(_ steps: BatchTimings, under context: SpanContext, _ tracer: Tracer) -> [Span] {
        steps.all.map { step, start, end in
            Span(step.rawValue, .within, tracer.child(of: context), under: context, during: (start, end))
        }
    }
}
