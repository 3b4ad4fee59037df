import AMQP

/// A correct producer: it publishes with confirms, and publishes unconfirmed messages again.
struct Producer: Sendable {
    let publisher: Publisher

    static func with<Value>(_ broker: BrokerAddress, _ body: (Producer) async throws -> Value) async throws -> Value {
        let publisher = Publisher(PublisherOptions(broker: broker, name: "proof, publishing"))
        publisher.start()
        let result: Result<Value, any Error>
        do { result = .success(try await body(Producer(publisher: publisher))) } catch { result = .failure(error) }
        await publisher.close()
        return try result.get()
    }

    /// Publishes the messages and returns when the broker has confirmed every one.
    func send(_ pieces: some Collection<ProofMessage>) async throws -> Sent {
        var sent = Sent()
        var waiting = Array(pieces)
        for _ in 0..<30 {
            guard !waiting.isEmpty else { return sent }
            let outcomes = await publisher.publish(waiting.map(\.message))
            var again: [ProofMessage] = []
            for (piece, outcome) in zip(waiting, outcomes) {
                if outcome.mayHaveArrived { sent.note(piece) }
                if outcome != .confirmed { again.append(piece) }
            }
            sent.repeats += again.count
            waiting = again
        }
        throw ProofFailure("the broker does not confirm \(waiting.count) messages")
    }
}

extension PublishOutcome {
    fileprivate var mayHaveArrived: Bool {
        switch self {
        case .confirmed, .unknown, .refused: true
        case .unroutable, .notSent, .unwritable, .tooLarge: false
        }
    }
}

/// The rows that must exist at the end.
struct Sent: Sendable {
    /// The expected records as `event|user`.
    private(set) var records: Set<String> = []
    /// The events that are stored.
    private(set) var plans: Set<String> = []
    /// The dead letters with the number of copies that may have arrived.
    ///
    /// A message that was published again after a missing confirm may exist twice.
    private(set) var letters: [Letter: Int] = [:]
    /// The number of publications that were repeated after a missing confirm.
    var repeats = 0

    struct Letter: Hashable, Sendable {
        let reason: String
        let body: [UInt8]
    }

    mutating func note(_ piece: ProofMessage) {
        switch piece.fate {
        case .recorded(let event, let users): records.formUnion(users.map { "\(event)|\($0)" })
        case .kept(let event): plans.insert(event)
        case .rejected(let reason):
            letters[Letter(reason: reason, body: piece.message.body), default: 0] += piece.copies
        }
    }

    static func + (one: Sent, other: Sent) -> Sent {
        var sum = one
        sum.records.formUnion(other.records)
        sum.plans.formUnion(other.plans)
        sum.letters.merge(other.letters, uniquingKeysWith: +)
        sum.repeats += other.repeats
        return sum
    }
}
