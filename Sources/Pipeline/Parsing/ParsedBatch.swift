import AMQP
import BellhopRules
import Store

/// One message of a batch, parsed; the list of kinds is complete.
///
/// An event for named users is nearly every message, so the larger contents of other kinds are stored indirectly.
enum ParsedMessage: Sendable {
    /// An event for named users, with its rows in the batch's records: one for each user.
    case event(records: Range<Int>)
    /// An event that is stored until its expansion, for a wide audience or for later.
    indirect case plan(PlannedEvent)
    indirect case cancellation(EventCancellation)
    /// A change of a user's data; `isRepaired` states whether its preference document was repaired.
    indirect case feed(FeedEntry, isRepaired: Bool)
    /// Notifications with open deliveries.
    case resume([NotificationKey])
    /// Users whose devices must receive a badge number.
    case badges([UserKey])
    /// A page of a fan-out that is due.
    indirect case page(PageWork)
    /// A message with a fault that no retry can fix.
    indirect case invalid(DeadLetterCause)
    /// Another application's message that the catalogue's mapping ignores.
    case ignored
}

/// A page of a fan-out, with the message that named it.
struct PageWork: Sendable {
    let page: FanoutPage
    let message: IncomingMessage

    /// Whether the message was delivered before, so that a worker may have processed a part of the page.
    var replacesEarlier: Bool { message.redelivered }
}

/// One batch of messages, parsed; indices are positions in the batch.
struct ParsedBatch {
    /// One element for each message, in order.
    private(set) var messages: [ParsedMessage] = []
    /// One record for each event and named user.
    private(set) var records: [Entry<InboxRecord>] = []
    /// The replays of replayed messages, by the messages' positions.
    private(set) var replays: [Int: ReplayHeaders] = [:]
    /// The positions of messages that were delivered before, or that replace such a message.
    private(set) var replacements: Set<Int> = []

    /// Parses messages.
    ///
    /// `names` contains the events exchange, whose routing keys count, and the resume queues. `arrival` is the time of
    /// messages without a timestamp.
    init(_ arrived: [IncomingMessage], catalogs: CatalogSet, names: TopologyNames, arrival: Timestamp) {
        let readers = Readers(catalogs)
        messages.reserveCapacity(arrived.count)
        records.reserveCapacity(arrived.count)
        let eventsExchange = names.events
        let replayQueue = names.replay
        let resumeQueues = Lane.allCases.map(names.resume) + [replayQueue]
        for (index, message) in arrived.enumerated() {
            if message.redelivered { replacements.insert(index) }
            var envelope = InboundEnvelope(message, eventsExchange: eventsExchange)
            var arrival = arrival
            if message.queue == replayQueue, let replay = ReplayHeaders(marks: message.headers) {
                replays[index] = replay
                guard !names.carriesWork(exchange: replay.exchange, routingKey: replay.routingKey) else {
                    addInternal(message)
                    continue
                }
                envelope = replay.envelope(of: message, eventsExchange: eventsExchange)
                arrival = replay.arrivedAt ?? arrival
            } else if resumeQueues.contains(message.queue) {
                addInternal(message)
                continue
            }
            add(envelope, readers, arrival)
        }
    }

    /// Predicts the processing of messages that were not consumed, each with the time of its arrival.
    init(foreseeing envelopes: [(envelope: InboundEnvelope, arrival: Timestamp)], catalogs: CatalogSet) {
        let readers = Readers(catalogs)
        for (envelope, arrival) in envelopes { add(envelope, readers, arrival) }
    }

    /// The two ways to read a message.
    private struct Readers {
        let catalogs: CatalogSet
        let plain: PlainEventReader
        let parser: SubmissionParser

        init(_ catalogs: CatalogSet) {
            self.catalogs = catalogs
            plain = PlainEventReader(catalogs)
            parser = SubmissionParser.hashing(catalogs)
        }
    }

    private static func contentHash(_ bytes: UnsafeBufferPointer<UInt8>) -> PlainNotification.Hash {
        ContentHash(ofContent: bytes).words
    }

    private mutating func add(_ envelope: InboundEnvelope, _ readers: Readers, _ arrival: Timestamp) {
        if let plain = readers.plain.notification(in: envelope, at: arrival, hash: Self.contentHash) {
            let start = records.count
            let record = InboxRecord(NotificationText(plain), for: plain.user, position: start)
            records.append(Entry(index: messages.count, work: record))
            messages.append(.event(records: start..<records.count))
            return
        }
        let catalogs = readers.catalogs
        let message: ParsedMessage =
            switch readers.parser.parseTree(envelope) {
            case .failure(let rejection): .invalid(DeadLetterCause(rejection))
            case .success(.event(let event)): parse(event, catalogs, arrival)
            case .success(.feed(let update)): Self.parse(update, catalogs, arrival)
            case .success(.cancellation(let app, let event)):
                .cancellation(EventCancellation(app: app, event: event))
            case .success(.ignored): .ignored
            }
        messages.append(message)
    }

    /// Adds the records of an event for named users.
    private mutating func parse(_ event: Event, _ catalogs: CatalogSet, _ arrival: Timestamp) -> ParsedMessage {
        let rendered: RenderedEvent
        switch RenderedEvent.read(event, catalogs, at: arrival) {
        case .failure(let rejection): return .invalid(DeadLetterCause(rejection))
        case .success(let success): rendered = success
        }
        guard event.deliverAt == nil, case .users(let users) = event.audience else {
            let plan = rendered.plan
            if let rejection = plan.refusal { return .invalid(DeadLetterCause(rejection)) }
            return .plan(plan)
        }
        let words = rendered.words(ContentHash(of: event))
        let start = records.count
        for user in users {
            let record = InboxRecord(words, for: user, position: records.count)
            records.append(Entry(index: messages.count, work: record))
        }
        return .event(records: start..<records.count)
    }

    private static func parse(_ update: FeedUpdate, _ catalogs: CatalogSet, _ arrival: Timestamp) -> ParsedMessage {
        var update = update
        var isRepaired = false
        if let catalog = catalogs[update.app] {
            update.change.foldTopic(catalog.topics)
            if case .recipientUpserted(var recipient) = update.change {
                isRepaired = recipient.normalizePreferences(catalog.preferenceSchema, at: arrival)
                update.change = .recipientUpserted(recipient)
            }
        }
        return .feed(FeedEntry(update: update, arrival: arrival), isRepaired: isRepaired)
    }

    private mutating func addInternal(_ message: IncomingMessage) {
        switch message.cut == nil ? InternalMessage.read(message.body) : .failure(.foreign) {
        case .success(.resume(let resume)):
            if resume.replacesEarlier { replacements.insert(messages.count) }
            messages.append(.resume(resume.keys))
        case .success(.badges(let badges)): messages.append(.badges(badges.recipients))
        case .success(.page(let page)): messages.append(.page(PageWork(page: page, message: message)))
        case .failure(let why): messages.append(.invalid(why.cause(at: .resume, called: "resume")))
        }
    }
}

extension ParsedBatch {
    var plans: [Entry<PlannedEvent>] { entries { if case .plan(let plan) = $0 { plan } else { nil } } }

    /// Whether a message is an event for a topic or for everyone that is expanded immediately.
    func fansOut(_ index: Int) -> Bool {
        if case .plan(let plan) = messages[index] { plan.isForNow } else { false }
    }

    var cancellations: [Entry<EventCancellation>] {
        entries { if case .cancellation(let cancellation) = $0 { cancellation } else { nil } }
    }

    var feeds: [Entry<FeedEntry>] { entries { if case .feed(let entry, _) = $0 { entry } else { nil } } }

    /// The apps of preference documents that were repaired, once for each document.
    var repaired: [AppID] {
        entries { if case .feed(let entry, isRepaired: true) = $0 { entry.update.app } else { nil } }.map(\.work)
    }

    var resumed: [Entry<NotificationKey>] {
        entries { if case .resume(let keys) = $0 { keys } else { nil } }
            .flatMap { entry in entry.work.map { Entry(index: entry.index, work: $0) } }
    }

    var badges: [Entry<UserKey>] {
        entries { if case .badges(let users) = $0 { users } else { nil } }
            .flatMap { entry in entry.work.map { Entry(index: entry.index, work: $0) } }
    }

    var pages: [Entry<PageWork>] { entries { if case .page(let page) = $0 { page } else { nil } } }

    var faults: [Entry<DeadLetterCause>] { entries { if case .invalid(let cause) = $0 { cause } else { nil } } }

    /// The size of the notifications' texts in bytes, each event's text once.
    var footprint: Int {
        messages.reduce(0) { sum, message in
            guard case .event(let rows) = message, let first = rows.first else { return sum }
            return sum + records[first].work.words.content.texts.byteCount
        }
    }

    /// Returns the contents of the messages of one kind.
    private func entries<Work>(_ work: (ParsedMessage) -> Work?) -> [Entry<Work>] {
        messages.indices.compactMap { index in work(messages[index]).map { Entry(index: index, work: $0) } }
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
