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
        await loop.run(until: drain) { batch, gate, asides in
            await work(batch, Courier.Shift(lane: .normal, drain: drain, asides: asides))
            gate.leave()
        }
    }

    /// A slow provider of one app leaves places to the others.
    private static let batchesAtOnce = 4
    /// Messages at once; two fill a question to Expo.
    private static let batch = 2

    /// Acknowledges each message when all that it names is settled.
    private func work(_ messages: [IncomingMessage], _ shift: Courier.Shift) async {
        var indices: [DeliveryKey: Int] = [:]
        var strays: [Int] = []
        for (index, message) in messages.enumerated() {
            guard message.cut == nil, let named = ReceiptMessage.read(message.body) else {
                strays.append(index)
                continue
            }
            for key in named.keys { indices[key] = index }
        }
        var chance = SystemRandomNumberGenerator()
        let run = Courier.Run(claim: Claim(using: &chance), shift: shift)
        let heard = await hear(Array(indices.keys), run)
        let outcomes = (heard ?? []).map { heard in
            let (receipt, rules) = (heard.receipt, rules(heard.receipt, isMassDeath: heard.isMassDeath))
            let outcome = ReceiptOutcome(receipt, heard.answer, index: indices[receipt.key] ?? 0, rules)
            return (receipt: receipt, outcome: outcome)
        }
        let tags = messages.map(\.tag)
        let settling = outcomes.compactMap(\.outcome.indexToSettle)
        let parts = OpenParts(messages: tags.count, parts: Array(tags.indices) + strays + settling)
        let close: Courier.Settled = { [consumer] indices, unfinished in
            consumer.acknowledge(parts.close(indices, unfinished: unfinished).map { tags[$0] })
        }
        bury(strays, of: messages, shift, close)
        await settle(outcomes, run, close)
        close(Array(tags.indices), heard == nil ? Set(indices.values) : [])
    }

    /// Claims receipts and asks for them; nil where a drain came first.
    private func hear(_ keys: [DeliveryKey], _ run: Courier.Run) async -> [Heard]? {
        guard !keys.isEmpty else { return [] }
        let persistence = Persistence(drain: run.drain, surroundings: surroundings)
        let receipts = await persistence.insist { [book] () throws(PostgresError) in
            try await book.claim(keys, as: run.claim)
        }
        guard let receipts else { return nil }
        return await ask(receipts)
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
        _ run: Courier.Run,
        _ close: @escaping Courier.Settled
    ) async {
        var settled: [Lane: [DeliveryOutcome]] = [:]
        var later: [Settlement] = []
        for (receipt, outcome) in outcomes {
            switch outcome {
            case .settled(let outcome): settled[receipt.priority.lane, default: []].append(outcome)
            case .later(let settlement): later.append(settlement)
            }
        }
        for (lane, outcomes) in settled {
            let shift = Courier.Shift(lane: lane, drain: run.drain, asides: run.shift.asides)
            await courier.settle(outcomes, Courier.Run(claim: run.claim, shift: shift), close)
        }
        guard !later.isEmpty else { return }
        // Where this is not written, they are due again in a few minutes: their messages need not come back for that.
        let persistence = Persistence(drain: run.drain, surroundings: surroundings)
        _ = await persistence.insist { [ledger, later] () throws(PostgresError) in
            try await ledger.settle(later, of: run.claim)
        }
    }

    private func bury(
        _ strays: [Int],
        of messages: [IncomingMessage],
        _ shift: Courier.Shift,
        _ close: @escaping Courier.Settled
    ) {
        guard !strays.isEmpty else { return }
        let fault = DeadLetterCause(
            .receipt,
            reason: RejectionReason.malformedJSON.rawValue,
            error: "not a receipts message"
        )
        let casualties = strays.map { Casualty.message(messages[$0], fault) }
        shift.asides.add(weighing: Casualty.weight(of: casualties)) { [deadLetters] in
            await deadLetters.bury(casualties, until: shift.drain) { positions, areBuried in
                let ended = positions.map { strays[$0] }
                close(ended, areBuried ? [] : Set(ended))
            }
        }
    }
}

extension ReceiptOutcome {
    /// The position of its message, where something is to be settled now.
    fileprivate var indexToSettle: Int? {
        if case .settled(let outcome) = self { outcome.index } else { nil }
    }
}

extension ReceiptAnswer {
    /// Nil where the provider does not know, or could not be asked.
    fileprivate var verdict: Verdict? {
        if case .known(let verdict) = self { verdict } else { nil }
    }
}
