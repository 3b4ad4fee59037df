import AMQP
import BellhopRules
import Store

/// A page of a fan-out, with the message that named it.
struct PageWork: Sendable {
    let page: FanoutPage
    let message: IncomingMessage
}

/// One batch of messages, parsed and grouped by the required processing; indices are positions in the batch.
struct ParsedBatch {
    /// Faults that no retry can fix.
    private(set) var faults: [Entry<DeadLetterCause>] = []
    /// One record for each event and named user.
    private(set) var records: [Entry<InboxRecord>] = []
    /// Events that are stored until their expansion, for a wide audience or for later.
    private(set) var plans: [Entry<PlannedEvent>] = []
    private(set) var cancellations: [Entry<EventCancellation>] = []
    private(set) var feeds: [Entry<FeedEntry>] = []
    /// The apps of preference documents that were repaired, once for each document.
    private(set) var repaired: [AppID] = []
    /// The replays of replayed messages, by the messages' positions.
    private(set) var replayed: [Int: ReplayHeaders] = [:]
    /// Notifications with open deliveries.
    private(set) var resumed: [Entry<NotificationKey>] = []
    /// The positions of messages that were delivered before, or that replace such a message.
    private(set) var heirs: Set<Int> = []
    /// Users whose devices must receive a badge number.
    private(set) var badges: [Entry<UserKey>] = []
    /// Pages of fan-outs that are due.
    private(set) var pages: [Entry<PageWork>] = []

    /// Parses and groups messages.
    ///
    /// `names` contains the events exchange, whose routing keys count, and the resume queues. `arrival` is the time of
    /// messages without a timestamp.
    init(_ messages: [IncomingMessage], catalogs: CatalogSet, names: TopologyNames, arrival: Timestamp) {
        let parser = SubmissionParser.hashing(catalogs)
        records.reserveCapacity(messages.count)
        let eventsExchange = names.events
        let replays = names.replay
        let resumeQueues = Lane.allCases.map(names.resume) + [replays]
        for (index, message) in messages.enumerated() {
            if message.redelivered { heirs.insert(index) }
            var envelope = InboundEnvelope(message, eventsExchange: eventsExchange)
            var arrival = arrival
            if message.queue == replays, let replay = ReplayHeaders(marks: message.properties.headers) {
                replayed[index] = replay
                guard !names.carriesWork(exchange: replay.exchange, routingKey: replay.routingKey) else {
                    addInternal(message, index)
                    continue
                }
                envelope = replay.envelope(of: message, eventsExchange: eventsExchange)
                arrival = replay.arrivedAt ?? arrival
            } else if resumeQueues.contains(message.queue) {
                addInternal(message, index)
                continue
            }
            add(parser.parse(envelope), index, catalogs, arrival)
        }
    }

    /// Predicts the processing of messages that were not consumed, each with the time of its arrival.
    init(foreseeing envelopes: [(envelope: InboundEnvelope, arrival: Timestamp)], catalogs: CatalogSet) {
        let parser = SubmissionParser.hashing(catalogs)
        for (index, (envelope, arrival)) in envelopes.enumerated() {
            add(parser.parse(envelope), index, catalogs, arrival)
        }
    }

    private mutating func add(
        _ submission: Result<Submission, Rejection>,
        _ index: Int,
        _ catalogs: CatalogSet,
        _ arrival: Timestamp
    ) {
        switch submission {
        case .failure(let rejection): faults.append(Entry(index: index, work: DeadLetterCause(rejection)))
        case .success(.event(let event)):
            if let rejection = add(event, index, catalogs, arrival) {
                faults.append(Entry(index: index, work: DeadLetterCause(rejection)))
            }
        case .success(.feed(let update)): add(update, index, catalogs, arrival)
        case .success(.cancellation(let app, let event)):
            cancellations.append(Entry(index: index, work: EventCancellation(app: app, event: event)))
        }
    }

    /// The size of the notifications' texts in bytes, each event's text once.
    var footprint: Int {
        var sum = 0
        var latest: NotificationText?
        for index in records.indices where records[index].work.words !== latest {
            let words = records[index].work.words
            latest = words
            sum += words.content.footprint
        }
        return sum
    }

    private mutating func addInternal(_ message: IncomingMessage, _ index: Int) {
        switch message.cut == nil ? InternalMessage.read(message.body) : .failure(.foreign) {
        case .success(.resume(let resume)):
            if resume.isHeir { heirs.insert(index) }
            resumed += resume.keys.map { Entry(index: index, work: $0) }
        case .success(.badges(let badges)): self.badges += badges.recipients.map { Entry(index: index, work: $0) }
        case .success(.page(let page)):
            pages.append(Entry(index: index, work: PageWork(page: page, message: message)))
        case .failure(let why): faults.append(Entry(index: index, work: why.cause(at: .resume, called: "resume")))
        }
    }

    private mutating func add(_ update: FeedUpdate, _ index: Int, _ catalogs: CatalogSet, _ arrival: Timestamp) {
        var update = update
        if let catalog = catalogs[update.app] { update.change.foldTopic(catalog.topics) }
        if case .recipientUpserted(var recipient) = update.change, let catalog = catalogs[update.app] {
            if recipient.normalizePreferences(catalog.preferenceSchema) { repaired.append(update.app) }
            update.change = .recipientUpserted(recipient)
        }
        feeds.append(Entry(index: index, work: FeedEntry(update: update, arrival: arrival)))
    }

    private mutating func add(
        _ event: Event,
        _ index: Int,
        _ catalogs: CatalogSet,
        _ arrival: Timestamp
    ) -> Rejection? {
        let worded: RenderedEvent
        switch RenderedEvent.read(event, catalogs, at: arrival) {
        case .failure(let rejection): return rejection
        case .success(let success): worded = success
        }
        guard event.deliverAt == nil, case .users(let users) = event.audience else {
            let plan = worded.plan
            if let rejection = plan.refusal { return rejection }
            plans.append(Entry(index: index, work: plan))
            return nil
        }
        let words = worded.words(ContentHash(of: event))
        for user in users {
            var record = InboxRecord(words, for: user)
            record.position = records.count
            records.append(Entry(index: index, work: record))
        }
        return nil
    }
}

extension PlannedEvent {
    /// The rejection of an event that would be too large when it is due.
    ///
    /// A stored event must not be rejected later.
    fileprivate var refusal: Rejection? {
        let limit = JSONParser.Limits.event.bytes
        guard !isForNow, byteCount > limit else { return nil }
        return Rejection(
            reason: .tooLarge,
            pointer: .root,
            message: "with what its headers and its type say it has \(byteCount) bytes, the limit is \(limit)",
            event: event
        )
    }
}
