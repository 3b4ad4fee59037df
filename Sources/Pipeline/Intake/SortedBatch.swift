import AMQP
import BellhopRules
import Store

/// One batch of messages, read and sorted by what has to happen with each; indices point into the batch.
struct SortedBatch {
    /// What will not get better by trying again.
    var faults: [Entry<Fault>] = []
    /// One for each (event, named user).
    var records: [Entry<InboxRecord>] = []
    /// Events that are kept until they are expanded: for a wider audience, or for later.
    var plans: [Entry<PlannedEvent>] = []
    var cancellations: [Entry<EventCancellation>] = []
    var feeds: [Entry<FeedEntry>] = []

    struct Entry<Work: Sendable>: Sendable {
        let index: Int
        let work: Work
    }

    init(_ messages: [IncomingMessage], parser: SubmissionParser, names: EventsExchange, arrival: Timestamp) {
        records.reserveCapacity(messages.count)
        for (index, message) in messages.enumerated() {
            switch parser.parse(InboundEnvelope(message, eventsExchange: names.name)) {
            case .failure(let rejection): faults.append(Entry(index: index, work: Fault(rejection)))
            case .success(.event(let event)): add(event, index, parser, arrival)
            case .success(.feed(let update)):
                feeds.append(Entry(index: index, work: FeedEntry(update: update, arrival: arrival)))
            case .success(.cancellation(let app, let event)):
                cancellations.append(Entry(index: index, work: EventCancellation(app: app, event: event)))
            }
        }
    }

    /// The name of the exchange whose routing keys speak for their messages.
    struct EventsExchange {
        let name: String
    }

    private mutating func add(_ event: Event, _ index: Int, _ parser: SubmissionParser, _ arrival: Timestamp) {
        let content: RenderedContent
        switch parser.catalogs.render(event) {
        case .failure(let rejection):
            faults.append(Entry(index: index, work: Fault(rejection)))
            return
        case .success(let rendered): content = rendered
        }
        if let fault = Self.refusal(of: event, at: arrival) {
            faults.append(Entry(index: index, work: fault))
            return
        }
        let hash = ContentHash(of: event)
        guard event.deliverAt == nil, case .users(let users) = event.audience else {
            plans.append(Entry(index: index, work: PlannedEvent(event: event, contentHash: hash)))
            return
        }
        for user in users {
            let record = InboxRecord(event: event, user: user, contentHash: hash, content: content)
            records.append(Entry(index: index, work: record))
        }
    }

    /// What only the clock can tell: a plan further ahead than a year is taken for a mistake.
    private static func refusal(of event: Event, at arrival: Timestamp) -> Fault? {
        let year: Int64 = 366 * 86_400 * 1_000_000
        guard let planned = event.deliverAt, planned.microseconds - arrival.microseconds > year else { return nil }
        return Fault(
            Rejection(
                reason: .invalidField, pointer: JSONPointer.root.key("deliverAt"),
                message: "expected an instant within a year, found one further ahead", event: event
            )
        )
    }
}
