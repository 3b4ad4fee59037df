import HTTPTransfer
package import ServiceRuntime

/// Sends spans to a collector over OTLP/HTTP, separately from all other work, so that recording a span never waits.
///
/// Spans that the collector rejects are dropped. While it is unavailable or asks for a pause, spans are kept up to the
/// queue's limit. Each lost span is counted.
package struct SpanExporter: FinalizingService {
    package let name = "span exporter"
    private let queue: SpanQueue
    private let document: OTLPDocument
    private let settings: TracingSettings
    private let transport: any HTTPTransport
    private let rhythm: Intervals
    private let context: Context

    /// The batch size and the intervals of the exporter.
    package struct Intervals: Sendable {
        package var interval = Duration.seconds(5)
        package var batch = 512
        /// The maximum number of sends of one batch.
        package var attempts = 5
        package var firstPause = Duration.seconds(1)
        /// The maximum pause, even if the collector asks for a longer one.
        package var longestPause = Duration.seconds(60)
        /// The maximum time of the last flush at the end of a process.
        package var flush = Duration.seconds(3)

        package init() {}
    }

    struct Context: Sendable {
        let chance: RandomSource
        let logger: Logger
        let metrics: SpanMetrics
    }

    init(
        _ queue: SpanQueue,
        _ document: OTLPDocument,
        _ settings: TracingSettings,
        _ rhythm: Intervals,
        _ context: Context
    ) throws {
        var options = CurlTransportOptions(name: "spans")
        options.connections = 1
        options.allowsPlainHTTP = settings.endpoint.hasPrefix("http://")
        options.authoritiesFile = settings.authoritiesFile
        options.closeGrace = .zero
        transport = try CurlTransport(options)
        (self.queue, self.document, self.settings) = (queue, document, settings)
        (self.rhythm, self.context) = (rhythm, context)
    }

    package func run(until drain: DrainSignal) async throws {
        var isAway = false
        while !drain.isDraining, !Task.isCancelled {
            await rest(until: drain)
            while !drain.isDraining, !Task.isCancelled, queue.count > 0 {
                await send(queue.take(rhythm.batch), until: drain, &isAway)
                if queue.count < rhythm.batch { break }
            }
        }
    }

    private var metrics: SpanMetrics { context.metrics }

    /// Sends the remaining spans after all other work has ended, within the flush time, and then closes the connection.
    package func flush() async {
        let work = Task { [self] in
            while !Task.isCancelled, queue.count > 0 {
                let spans = queue.take(rhythm.batch)
                guard case .taken(let refused) = await post(spans) else {
                    return metrics.lost(spans.count, .unreachable)
                }
                metrics.exported(spans.count, refused: refused)
            }
        }
        let timer = Task { [rhythm] in
            if (try? await Task.sleep(for: rhythm.flush)) != nil { work.cancel() }
        }
        await work.value
        timer.cancel()
        metrics.lost(queue.take(.max).count, .unreachable)
        await transport.close()
    }

    /// Waits for the next turn, or until the queue is half full.
    private func rest(until drain: DrainSignal) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [queue] in await queue.becomesHalfFull() }
            group.addTask { [rhythm] in await drain.pause(for: rhythm.interval) }
            await group.next()
            group.cancelAll()
        }
    }

    package func sayLastWords(leavingNothing: Bool) async { await flush() }

    /// Sends a batch, with retries if they are useful; spans that are unsent at a drain are left for the last flush.
    private func send(_ spans: [Span], until drain: DrainSignal, _ isAway: inout Bool) async {
        guard !spans.isEmpty else { return }
        var backoff = Backoff(base: rhythm.firstPause, cap: rhythm.longestPause)
        var chance = context.chance
        for attempt in 1...max(1, rhythm.attempts) {
            switch await post(spans, until: drain) {
            case .taken(let refused):
                if isAway { context.logger.notice("collector accepts spans again") }
                isAway = false
                return metrics.exported(spans.count, refused: refused)
            case .refused(let why):
                context.logger.warning("collector rejected spans, dropping them", ["error": .text(why)])
                return metrics.lost(spans.count, .refused)
            case .later(let why, let asked):
                if !isAway {
                    context.logger.warning("collector unavailable, buffering spans", ["error": .text(why)])
                }
                isAway = true
                guard attempt < rhythm.attempts else { return metrics.lost(spans.count, .unreachable) }
                let pause = max(backoff.next(using: &chance), asked ?? .zero)
                await drain.pause(for: min(pause, rhythm.longestPause))
                guard !drain.isDraining, !Task.isCancelled else {
                    return metrics.lost(queue.putBack(spans), .full)
                }
            }
        }
    }

    private enum Outcome {
        /// Accepted, except the given number of spans.
        case taken(refused: Int)
        case refused(String)
        /// A retry is possible, at the earliest after this time.
        case later(String, after: Duration?)
    }

    /// Sends a batch and gives up at a drain, so that an unresponsive collector does not delay the end of a process.
    private func post(_ spans: [Span], until drain: DrainSignal) async -> Outcome {
        await withTaskGroup(of: Outcome?.self) { group in
            group.addTask { await post(spans) }
            group.addTask {
                await drain.wait()
                return nil
            }
            for await outcome in group {
                group.cancelAll()
                if let outcome { return outcome }
            }
            return .later("no answer", after: nil)
        }
    }

    private func post(_ spans: [Span]) async -> Outcome {
        let headers = [("content-type", "application/json")] + settings.headers.map { ($0.name, $0.value.revealed) }
        let request = TransferRequest(
            .post,
            url: settings.endpoint,
            headers: headers,
            body: document.bytes(of: spans),
            timeouts: TransferTimeouts(total: settings.timeout, connect: min(settings.timeout, .seconds(5)))
        )
        switch await transport.send([request]).first {
        case .answered(let answer)?: return outcome(answer)
        case .notSent(let error)?, .unknown(let error)?: return .later("\(error)", after: nil)
        case nil: return .later("no answer", after: nil)
        }
    }

    private func outcome(_ answer: TransferAnswer) -> Outcome {
        switch answer.status {
        case 200..<300: return .taken(refused: PartialSuccess.refused(answer.body))
        case 429, 502, 503, 504:
            return .later("status \(answer.status)", after: answer.retryAfterSeconds.map { .seconds($0) })
        default: return .refused("status \(answer.status)")
        }
    }
}

/// The counters of exported and lost spans.
struct SpanMetrics: Sendable {
    /// The reason for a loss.
    enum DropReason: String {
        /// The queue was full.
        case full
        case refused
        case unreachable
    }

    private let taken: Counter
    private let dropped: LabelledMetric<Counter>

    init(_ registry: MetricsRegistry) {
        taken = registry.counter("bellhop_spans_exported_total", help: "Spans that the collector took.")
        dropped = registry.counter(
            "bellhop_spans_dropped_total",
            help: "Spans that no collector got: no room was left, it refused them, or it could not be reached.",
            labels: ["reason"]
        )
    }

    func exported(_ count: Int, refused: Int) {
        taken.increment(by: max(0, count - refused))
        lost(min(refused, count), .refused)
    }

    func lost(_ count: Int, _ why: DropReason) {
        guard count > 0 else { return }
        dropped.with(why.rawValue).increment(by: count)
    }
}
