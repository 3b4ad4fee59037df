package import AMQP
package import BellhopRules
package import Push
package import ServiceRuntime
package import Settings
import Store

/// Polls providers for the receipts of accepted pushes and settles the deliveries.
///
/// A message only names deliveries. A worker claims them, polls, and settles the deliveries of which it still holds the
/// claim. After a crash, a worker polls again; if two poll at the same time, only one settles.
package struct ReceiptWorker: Service {
    package let name = "receipts"
    private let consumer: Consumer
    private let sources: [AppID: any ReceiptSource]
    private let catalogs: CatalogSource
    private let worker: WorkerContext
    private let settler: Settler
    private let stuck: StuckMessages
    private let context: PipelineContext

    package init(
        consumer: Consumer,
        sources: [AppID: any ReceiptSource],
        catalogs: CatalogSource,
        worker: WorkerContext,
        context: PipelineContext
    ) {
        self.consumer = consumer
        self.sources = sources
        self.catalogs = catalogs
        self.worker = worker
        self.context = context
        settler = worker.settler(context)
        stuck = StuckMessages(lane: "receipts", names: worker.names, context: context, limit: Self.mostStuck)
    }

    /// Whether messages can arrive.
    package var isReady: Bool { consumer.isConsuming }

    /// Runs until the drain fires, then finishes the batches in progress.
    ///
    /// Messages that were not started return to the queue.
    package func run(until drain: DrainSignal) async throws {
        let loop = BatchLoop(
            consumer: consumer,
            batch: Self.batch,
            batchesAtOnce: Self.batchesAtOnce,
            stuck: stuck,
            clocks: context.clocks
        )
        await loop.run(until: drain) { batch, limiter, detached in
            let batchContext = Batch.Context(
                lane: .normal,
                drain: drain,
                detached: detached,
                acknowledge: consumer.acknowledge,
                giveBack: stuck.add
            )
            await work(batch, batchContext)
            limiter.leave()
        }
    }

    /// Several batches, so that one app's slow provider leaves places to the others.
    private static let batchesAtOnce = 4
    /// Half of the prefetch.
    private static let mostStuck = 8
    /// The number of messages per batch; two fill a request to Expo.
    private static let batch = 2

    /// Processes a batch.
    ///
    /// It acknowledges each message when all deliveries that it names are settled.
    private func work(_ messages: [IncomingMessage], _ batchContext: Batch.Context) async {
        let batch = Batch(messages, batchContext, context)
        var indices: [DeliveryKey: Int] = [:]
        var strays: [Entry<DeadLetterCause>] = []
        for (index, message) in messages.enumerated() {
            switch message.cut == nil ? ReceiptMessage.read(message.body) : .failure(.foreign) {
            case .success(let named): for key in named.keys { indices[key] = index }
            case .failure(let why):
                strays.append(Entry(index: index, work: why.cause(at: .receipt, called: "receipts")))
            }
        }
        let heard = await hear(indices, batch)
        var settled: [Lane: [Disposition]] = [:]
        var later: [Settlement] = []
        for heard in heard {
            let index = indices[heard.receipt.key] ?? 0
            let disposition = Disposition(heard.receipt, heard.answer, index: index, rules(heard))
            if disposition.settlement.state == .accepted {
                later.append(disposition.settlement)
            } else {
                settled[heard.receipt.priority.lane, default: []].append(disposition)
            }
        }
        let all = Array(messages.indices)
        batch.messages.open(all + strays.map(\.index) + settled.values.joined().map(\.index))
        _ = batch.messages.stored()
        settler.deadLetter(strays.map { Entry(index: $0.index, work: .message(messages[$0.index], $0.work)) }, batch)
        await settle(settled, askingAgain: later, batch)
        batch.messages.close(all)
    }

    /// Claims receipts and polls for them; each comes with the position of the message that names it.
    private func hear(_ indices: [DeliveryKey: Int], _ batch: Batch) async -> [Heard] {
        let found = await batch.lookUp(Array(indices.keys), for: { $0.compactMap { indices[$0] } }) {
            [store = worker.store] keys throws(StoreError) in
            try await store.claimReceipts(keys, as: batch.claim)
        }
        return await ask(Array((found?.values ?? []).joined()))
    }

    /// A provider's answer about a delivery, and whether there is a mass failure of devices.
    private struct Heard: Sendable {
        let receipt: OpenReceipt
        let answer: ReceiptAnswer
        let isMassDeath: Bool
    }

    /// Polls all apps concurrently and returns one answer for each receipt.
    private func ask(_ receipts: [OpenReceipt]) async -> [Heard] {
        let byApp = Dictionary(grouping: receipts, by: \.key.notification.recipient.app)
        return await withTaskGroup(of: [Heard].self) { tasks in
            for (app, receipts) in byApp {
                tasks.addTask {
                    let found = await answers(to: receipts, of: app)
                    let answers = receipts.map { found[$0.ticket] ?? .missing }
                    context.metrics.deliveries.countReceipts(answers, of: app)
                    let isMassDeath = await evaluate(Self.known(receipts, answers), of: app)
                    return zip(receipts, answers).map { Heard(receipt: $0, answer: $1, isMassDeath: isMassDeath) }
                }
            }
            return await tasks.reduce(into: []) { $0 += $1 }
        }
    }

    /// Returns the answers by ticket.
    ///
    /// A push has one ticket, however many deliveries it represents.
    private func answers(to receipts: [OpenReceipt], of app: AppID) async -> [String: ReceiptAnswer] {
        let tickets = Array(Set(receipts.map(\.ticket)))
        guard let source = sources[app] else {
            context.logger.warning(
                "no receipt source configured for an app with accepted deliveries",
                ["app": .text(app.text), "whatToDo": .text("put its provider back into BELLHOP_PROVIDERS")]
            )
            let unanswered = ReceiptAnswer.unanswered(.wrongProvider, notBefore: worker.policy.receipts.pause)
            return Dictionary(uniqueKeysWithValues: tickets.map { ($0, unanswered) })
        }
        return Dictionary(zip(tickets, await source.ask(tickets))) { first, _ in first }
    }

    /// Returns the known answers, once per ticket.
    private static func known(_ receipts: [OpenReceipt], _ answers: [ReceiptAnswer]) -> [MassFailure.Answer] {
        var seen: Set<String> = []
        return zip(receipts, answers).compactMap { receipt, answer in
            guard let verdict = answer.verdict, seen.insert(receipt.ticket).inserted else { return nil }
            return (receipt.key.notification.recipient, verdict)
        }
    }

    /// Opens the provider's breaker if its answers indicate a configuration error.
    ///
    /// It returns whether there is a mass failure of devices.
    private func evaluate(_ answers: [MassFailure.Answer], of app: AppID) async -> Bool {
        guard let provider = sources[app]?.provider,
            let outlet = worker.outlets[OutletKey(app: app, provider: provider)]
        else { return false }
        return await outlet.evaluate(receipts: answers, at: context.time.now())
    }

    private func rules(_ heard: Heard) -> ReceiptRules {
        let app = heard.receipt.key.notification.recipient.app
        return ReceiptRules(
            ladder: worker.policy.ladder,
            policy: worker.policy.receipts,
            retryLimit: heard.receipt.origin.flatMap { catalogs.current[app]?[$0.type]?.retryLimit },
            provider: sources[app]?.provider ?? .expo,
            isMassDeath: heard.isMassDeath
        )
    }

    /// Settles dispositions; retries use the lane of their notification's priority.
    private func settle(_ settled: [Lane: [Disposition]], askingAgain later: [Settlement], _ batch: Batch) async {
        for (lane, dispositions) in settled {
            var batch = batch
            batch.lane = lane
            await settler.settle(dispositions, batch)
        }
        guard !later.isEmpty else { return }
        // If this is not written, they are due again in a few minutes, so their messages need not be redelivered.
        _ = await batch.persistence.ask(later) { [store = worker.store] later throws(StoreError) in
            try await store.settle(later, of: batch.claim)
        }
    }
}

extension ReceiptAnswer {
    /// The verdict; `nil` if the provider has no receipt or could not be polled.
    fileprivate var verdict: Verdict? {
        if case .known(let verdict) = self { verdict } else { nil }
    }
}
