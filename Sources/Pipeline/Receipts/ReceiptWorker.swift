package import AMQP
package import BellhopRules
import Postgres
package import Push
package import ServiceRuntime
import Store

/// Asks providers what became of what they took, and settles it.
///
/// A message only names deliveries. Whoever gets it claims them, asks, and settles what its claim still holds: a crash at
/// any point means that somebody asks again, and two that ask at once settle once.
package struct ReceiptWorker: Service {
    package let name = "receipts"
    private let consumer: Consumer
    private let sources: [AppID: any ReceiptSource]
    private let catalogs: CatalogSource
    private let policy: DeliveryPolicy
    private let book: ReceiptBook
    private let ledger: Ledger
    private let courier: Courier
    private let deadLetters: DeadLetterQueue
    private let breakers: Breakers
    private let deaths = ReceiptDeaths()
    private let surroundings: FrontDoor.Surroundings

    package init(
        consumer: Consumer,
        sources: [AppID: any ReceiptSource],
        catalogs: CatalogSource,
        tools: FrontDoor.Tools,
        surroundings: FrontDoor.Surroundings
    ) {
        self.consumer = consumer
        self.sources = sources
        self.catalogs = catalogs
        self.surroundings = surroundings
        policy = tools.policy
        book = ReceiptBook(pool: tools.pool)
        ledger = Ledger(pool: tools.pool, lease: tools.policy.lease)
        courier = Courier(tools: tools, surroundings: surroundings)
        deadLetters = courier.deadLetters
        breakers = tools.breakers
    }

    /// Whether messages can arrive.
    package var isReady: Bool { consumer.isConsuming }

    /// Runs until the drain fires, then finishes what is in hand; what was not begun goes back to the queue.
    package func run(until drain: DrainSignal) async throws {
        let loop = BatchLoop(consumer: consumer, batch: Self.batch, batchesAtOnce: Self.batchesAtOnce)
        await loop.run(until: drain) { batch, gate in
            let unfinished = await work(batch, drain)
            gate.leave()
            let done = batch.indices.filter { !unfinished.contains($0) }
            consumer.acknowledge(done.map { batch[$0].tag })
        }
    }

    /// A slow provider of one app leaves places to the others.
    private static let batchesAtOnce = 4
    /// Messages at once; two fill a question to Expo.
    private static let batch = 2

    /// - Returns: the positions of the messages that must not be acknowledged.
    private func work(_ messages: [IncomingMessage], _ drain: DrainSignal) async -> Set<Int> {
        var indices: [DeliveryKey: Int] = [:]
        var strays: [Int] = []
        for (index, message) in messages.enumerated() {
            guard let named = ReceiptMessage.read(message.body) else {
                strays.append(index)
                continue
            }
            for key in named.keys { indices[key] = index }
        }
        var unfinished = await bury(strays, of: messages, drain)
        guard !indices.isEmpty else { return unfinished }
        var chance = SystemRandomNumberGenerator()
        let claim = Claim(using: &chance)
        let persistence = Persistence(drain: drain, surroundings: surroundings)
        let keys = Array(indices.keys)
        let receipts = await persistence.insist { [book] () throws(PostgresError) in
            try await book.claim(keys, as: claim)
        }
        guard let receipts else { return unfinished.union(indices.values) }
        let outcomes = await ask(receipts).map { heard in
            let (receipt, rules) = (heard.receipt, rules(heard.receipt, isMassDeath: heard.isMassDeath))
            let outcome = ReceiptOutcome(receipt, heard.answer, index: indices[receipt.key] ?? 0, rules)
            return (receipt: receipt, outcome: outcome)
        }
        unfinished.formUnion(await settle(outcomes, claim, drain, persistence))
        return unfinished
    }

    /// What a provider said of a delivery, and whether it called devices dead in masses.
    private struct Heard: Sendable {
        let receipt: OpenReceipt
        let answer: ReceiptAnswer
        let isMassDeath: Bool
    }

    /// One answer for each, all apps at once.
    private func ask(_ receipts: [OpenReceipt]) async -> [Heard] {
        let byApp = Dictionary(grouping: receipts, by: \.key.notification.recipient.app)
        return await withTaskGroup(of: [Heard].self) { tasks in
            for (app, receipts) in byApp {
                tasks.addTask {
                    let found = await answers(to: receipts, of: app)
                    let answers = receipts.map { found[$0.ticket] ?? .missing }
                    surroundings.metrics.countReceipts(answers, of: app)
                    let isMassDeath = await judge(Self.known(receipts, answers), of: app)
                    return zip(receipts, answers).map { Heard(receipt: $0, answer: $1, isMassDeath: isMassDeath) }
                }
            }
            return await tasks.reduce(into: []) { $0 += $1 }
        }
    }

    /// By ticket: what went out in one push has one, whatever it stands for in the ledger.
    private func answers(to receipts: [OpenReceipt], of app: AppID) async -> [String: ReceiptAnswer] {
        let tickets = Array(Set(receipts.map(\.ticket)))
        guard let source = sources[app] else {
            surroundings.logger.warning(
                "nobody to ask for receipts of an app that has accepted deliveries",
                ["app": .text(app.text), "whatToDo": .text("put its provider back into BELLHOP_PROVIDERS")]
            )
            let unanswered = ReceiptAnswer.unanswered(.wrongProvider, notBefore: policy.receipts.pause)
            return Dictionary(uniqueKeysWithValues: tickets.map { ($0, unanswered) })
        }
        return Dictionary(zip(tickets, await source.ask(tickets))) { first, _ in first }
    }

    /// What the provider knew, once for each ticket.
    private static func known(_ receipts: [OpenReceipt], _ answers: [ReceiptAnswer]) -> [ReceiptRefusal.Answer] {
        var seen: Set<String> = []
        return zip(receipts, answers).compactMap { receipt, answer in
            guard let verdict = answer.verdict, seen.insert(receipt.ticket).inserted else { return nil }
            return (receipt.key.notification.recipient, verdict)
        }
    }

    /// Opens the provider's breaker where its answers say that the fault is ours; whether devices die in masses.
    private func judge(_ answers: [ReceiptRefusal.Answer], of app: AppID) async -> Bool {
        guard let provider = sources[app]?.provider else { return false }
        let outlet = OutletKey(app: app, provider: provider)
        guard !deaths.areMany(answers, of: app, at: surroundings.time.now()) else {
            await breakers.openForMassDeath(outlet)
            return true
        }
        if let reason = ReceiptRefusal.reason(among: answers) { await breakers.open(outlet, refusedFor: reason) }
        return false
    }

    private func rules(_ receipt: OpenReceipt, isMassDeath: Bool) -> ReceiptOutcome.Rules {
        let app = receipt.key.notification.recipient.app
        return ReceiptOutcome.Rules(
            ladder: policy.ladder,
            policy: policy.receipts,
            retryLimit: receipt.origin.flatMap { catalogs.current[app]?[$0.type]?.retryLimit },
            provider: sources[app]?.provider ?? .expo,
            isMassDeath: isMassDeath
        )
    }

    /// Retries go back by the lane of their notification's priority.
    private func settle(
        _ outcomes: [(receipt: OpenReceipt, outcome: ReceiptOutcome)],
        _ claim: Claim,
        _ drain: DrainSignal,
        _ persistence: Persistence
    ) async -> Set<Int> {
        var settled: [Lane: [DeliveryOutcome]] = [:]
        var later: [Settlement] = []
        for (receipt, outcome) in outcomes {
            switch outcome {
            case .settled(let outcome): settled[receipt.priority.lane, default: []].append(outcome)
            case .later(let settlement): later.append(settlement)
            }
        }
        var unfinished: Set<Int> = []
        for (lane, outcomes) in settled {
            unfinished.formUnion(await courier.settle(outcomes, Courier.Run(claim: claim, lane: lane, drain: drain)))
        }
        // Where this is not written, they are due again in a few minutes: their messages need not come back for that.
        _ = await persistence.insist { [ledger, later] () throws(PostgresError) in
            try await ledger.settle(later, of: claim)
        }
        return unfinished
    }

    private func bury(_ strays: [Int], of messages: [IncomingMessage], _ drain: DrainSignal) async -> Set<Int> {
        guard !strays.isEmpty else { return [] }
        let fault = Fault(.receipt, reason: RejectionReason.malformedJSON.rawValue, error: "not a receipts message")
        let buried = await deadLetters.bury(strays.map { .message(messages[$0], fault) }, until: drain)
        return Set(zip(strays, buried).filter { !$1 }.map(\.0))
    }
}

extension ReceiptAnswer {
    /// Nil where the provider does not know, or could not be asked.
    fileprivate var verdict: Verdict? {
        if case .known(let verdict) = self { verdict } else { nil }
    }
}
