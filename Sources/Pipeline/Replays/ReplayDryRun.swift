import AMQP
package import BellhopRules
package import Settings
package import Store

/// Predicts a replay item by item, with the current rules, settings and ledger, without effects.
///
/// It assumes that the providers of an app's devices are configured where the workers run.
package struct ReplayDryRun: Sendable {
    private let catalogs: CatalogSet
    private let zones: ZoneLibrary
    private let names: TopologyNames
    private let ledger: ReplayAdmin
    private let store: WorkerStore
    private let pool: ConnectionPool

    package init(catalogs: CatalogSet, zones: ZoneLibrary, names: TopologyNames, pool: ConnectionPool) {
        self.catalogs = catalogs
        self.zones = zones
        self.names = names
        self.pool = pool
        ledger = ReplayAdmin(pool: pool)
        store = WorkerStore(pool: pool)
    }

    /// Returns one prediction for each item, in order.
    package func predict(
        _ items: [DeadLetterMessage],
        at now: Timestamp
    ) async throws(StoreError) -> [ReplayPrediction] {
        let decider = Decider(catalogs: catalogs, outlets: [], zones: zones, now: now)
        let gates = try await ReplayObstacles(of: pool)
        var predictions = items.map { _ in ReplayPrediction(.gone) }
        let deliveries = items.indices.filter { items[$0].summary.delivery != nil }
        let keys = deliveries.compactMap { items[$0].summary.delivery }
        for (index, prediction) in zip(deliveries, try await predict(keys, decider, gates)) {
            predictions[index] = prediction
        }
        let messages = items.indices.filter { items[$0].summary.delivery == nil }
        let arrival = { (index: Int) in Arrival(items[index].origin, at: items[index].summary.firstFailedAt) }
        for (index, prediction) in zip(messages, try await predict(messages.map(arrival), decider, gates)) {
            predictions[index] = prediction
        }
        return predictions
    }

    /// A message with the time of its first arrival.
    package struct Arrival: Sendable {
        fileprivate let origin: DeadLetterItem.Origin
        fileprivate let time: Timestamp

        package init(_ origin: DeadLetterItem.Origin, at time: Timestamp) {
            self.origin = origin
            self.time = time
        }
    }

    /// Predicts the outcome of one message.
    package func predict(
        _ message: Arrival,
        at now: Timestamp
    ) async throws(StoreError) -> ReplayPrediction {
        let decider = Decider(catalogs: catalogs, outlets: [], zones: zones, now: now)
        let gates = try await ReplayObstacles(of: pool)
        return try await predict([message], decider, gates).first ?? ReplayPrediction(.gone)
    }

    /// Returns an item about this message, with the names that the rules read from it.
    package func naming(_ item: DeadLetterItem) -> DeadLetterItem {
        let sorted = sorted([Arrival(item.origin, at: item.failedAt)])
        guard let event = sorted.records.first?.work.words.event ?? sorted.plans.first?.work.event else { return item }
        var named = item
        named.cause.app = event.app.text
        named.cause.eventType = event.type.text
        named.cause.eventID = event.id.text
        if case .users(let users) = event.audience { named.cause.user = users.count == 1 ? users.first?.text : nil }
        return named
    }

    /// Returns the reason and the place of the rules' rejection of a message; `nil` if they accept it.
    package func rejection(of message: Arrival) -> String? {
        isWork(message) ? nil : sorted([message]).faults.first?.work.words
    }

    private func isWork(_ message: Arrival) -> Bool {
        names.carriesWork(exchange: message.origin.exchange, routingKey: message.origin.routingKey)
    }

    private func sorted(_ messages: [Arrival]) -> ParsedBatch {
        let envelopes = messages.map { (InboundEnvelope($0.origin, eventsExchange: names.events), $0.time) }
        return ParsedBatch(foreseeing: envelopes, catalogs: catalogs)
    }

    // MARK: - Deliveries

    private func predict(
        _ keys: [DeliveryKey],
        _ decider: Decider,
        _ gates: ReplayObstacles
    ) async throws(StoreError) -> [ReplayPrediction] {
        let states = try await ledger.states(of: keys)
        let stored = try await store.notifications(Array(Set(keys.map(\.notification))))
        let people = try await store.recipients(of: Array(Set(keys.map(\.notification.recipient))))
        let follows = try await store.follows(stored.follows)
        return keys.map { key in
            switch states[key] {
            case nil: return ReplayPrediction(.gone)
            case .delivered, .accepted: return ReplayPrediction(.alreadyDelivered)
            case .pending, .sending, .retrying, .deferred: return ReplayPrediction(.stillOwed)
            case .expired: return ReplayPrediction(.expired)
            case .suppressed, .unknown: return ReplayPrediction(.optedOut, states[key]?.rawValue)
            case .failed: break
            }
            guard let notification = stored[key.notification] else { return ReplayPrediction(.gone) }
            let person = people[key.notification.recipient] ?? Recipient()
            let follow = notification.content.topic.flatMap { topic in
                follows[FollowKey(key.notification.recipient, topic)]?
                    .facts(for: key.notification.recipient, with: person.devices)
            }
            let facts = Facts(person: person, follow: follow, decider: decider, gates: gates)
            return prediction(key, notification, facts)
        }
    }

    /// The facts on which a prediction is based.
    private struct Facts {
        let person: Recipient
        var follow: DecisionFacts.Follow?
        let decider: Decider
        let gates: ReplayObstacles
    }

    private func prediction(
        _ key: DeliveryKey,
        _ stored: StoredNotification,
        _ known: Facts
    ) -> ReplayPrediction {
        let app = key.notification.recipient.app
        guard let catalog = catalogs[app], let type = catalog[stored.content.type] else {
            return ReplayPrediction(.optedOut, SuppressionReason.unknownType.rawValue)
        }
        var facts = known.decider.facts(stored.content, catalog, type, known.person, known.follow)
        facts.history.isRead = stored.isRead
        facts.history.isSuperseded = stored.isSuperseded
        let (outcome, device) = Decision(facts).outcome(of: key)
        return known.gates.prediction(outcome, to: device, app, type.type)
    }

    // MARK: - Messages

    private func predict(
        _ messages: [Arrival],
        _ decider: Decider,
        _ gates: ReplayObstacles
    ) async throws(StoreError) -> [ReplayPrediction] {
        let sorted = sorted(messages)
        // The ledger contains the work of internal messages and completes it without a replay.
        var predictions = messages.map { ReplayPrediction(isWork($0) ? .stillOwed : .wouldRecord) }
        for fault in sorted.faults where !isWork(messages[fault.index]) {
            predictions[fault.index] = ReplayPrediction(.stillInvalid, fault.work.reason)
        }
        try await foreseeFanouts(of: sorted, into: &predictions)
        var best: [Int: ReplayPrediction] = [:]
        for start in stride(from: 0, to: sorted.records.count, by: Self.pairsAtOnce) {
            let chunk = Array(sorted.records[start..<min(start + Self.pairsAtOnce, sorted.records.count)])
            let outcomes = try await store.foresee(chunk.map(\.work))
            let people = try await store.recipients(of: Array(Set(chunk.map(\.work.key.recipient))))
            for (entry, outcome) in zip(chunk, outcomes) {
                let person = people[entry.work.key.recipient] ?? Recipient()
                let known = Facts(person: person, decider: decider, gates: gates)
                let prediction = prediction(of: entry.work, outcome, known)
                if let other = best[entry.index], other.weight <= prediction.weight { continue }
                best[entry.index] = prediction
            }
        }
        for (index, prediction) in best { predictions[index] = prediction }
        return predictions
    }

    /// Predicts the events that are expanded to a topic or to everyone.
    private func foreseeFanouts(
        of sorted: ParsedBatch,
        into predictions: inout [ReplayPrediction]
    ) async throws(StoreError) {
        var known: [AudienceName: Bool] = [:]
        for plan in sorted.plans where sorted.fansOut(plan.index) {
            let name = AudienceName(app: plan.work.event.app.text, topic: plan.work.event.audience.topic?.text)
            let isEmpty: Bool
            if let found = known[name] {
                isEmpty = found
            } else {
                isEmpty = try await AudienceSize(of: name, on: pool, upTo: 1).users == 0
                known[name] = isEmpty
            }
            predictions[plan.index] = ReplayPrediction(.wouldFanOut, isEmpty ? ReplayPrediction.noAudience : nil)
        }
    }

    private func prediction(
        of record: InboxRecord,
        _ outcome: RecordOutcome,
        _ known: Facts
    ) -> ReplayPrediction {
        switch outcome {
        case .duplicate: return ReplayPrediction(.alreadyRecorded)
        case .conflict: return ReplayPrediction(.stillInvalid, RejectionReason.idConflict.rawValue)
        case .recipientErased: return ReplayPrediction(.gone)
        case .recorded: break
        }
        let (words, type) = (record.words, record.words.type)
        let decision = Decision(known.decider.facts(words.content, words.catalog, type, known.person, nil))
        let rulings = decision.devices.map { ruling in
            known.gates.prediction(ruling.outcome, to: ruling.device, record.app, type.type)
        }
        let first = decision.push.map { ReplayPrediction($0) } ?? rulings.min { $0.weight < $1.weight }
        switch first?.kind {
        case .wouldSend?, .heldByBreaker?, .heldByOperator?, .quietUntil?:
            return first ?? ReplayPrediction(.wouldRecord)
        default: return ReplayPrediction(.wouldRecord, first?.detail ?? first?.kind.rawValue)
        }
    }

    private static let pairsAtOnce = 1024
}

extension InboundEnvelope {
    /// Creates the rules' view of a stored message at its arrival.
    package init(_ origin: DeadLetterItem.Origin, eventsExchange: String) {
        let properties = AMQPJSON.properties(origin.properties) ?? MessageProperties()
        let headers = AMQPJSON.table(origin.headers) ?? FieldTable()
        self.init(
            body: origin.body,
            source: origin.exchange == eventsExchange ? .eventsExchange(routingKey: origin.routingKey) : .elsewhere
        )
        contentType = properties.contentType
        messageID = properties.messageID
        appID = properties.appID
        type = properties.type
        timestamp = properties.timestamp
        self.headers = headers.entries.map { ($0.name, HeaderValue($0.value)) }
    }
}
