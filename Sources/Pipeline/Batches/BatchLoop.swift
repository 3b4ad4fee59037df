import AMQP
import ServiceRuntime

/// Takes batches from a consumer, several at a time, until the drain fires; then finishes the batches in progress.
///
/// Messages that were not started return to the queue.
struct BatchLoop: Sendable {
    let consumer: Consumer
    /// The maximum of messages in one batch.
    let batch: Int
    /// The number of concurrent batches.
    ///
    /// Each batch returns its place itself, possibly before it has ended.
    let batchesAtOnce: Int
    /// Receives messages that fail individually in the database.
    let stuck: StuckMessages
    /// Takes no messages while it reports that the clocks differ.
    let clocks: ClockWatch?
    /// Is called for each batch when it arrives, but not for messages that are processed again.
    var arrived: @Sendable ([IncomingMessage]) -> Void = { _ in }

    /// The maximum bytes of one batch, unless a single message is larger.
    ///
    /// Parsed JSON uses up to twenty times as much.
    static let batchBytes = 2 << 20

    /// Processes one batch.
    ///
    /// It leaves the limiter when others may enter, and sets waiting work aside.
    typealias Work = @Sendable (_ batch: [IncomingMessage], ConcurrencyLimiter, DetachedWork) async -> Void

    func run(until drain: DrainSignal, _ work: @escaping Work) async {
        await clocks?.hold(until: drain)
        consumer.start()
        let detached = DetachedWork()
        await withDiscardingTaskGroup { group in
            group.addTask { await detached.run() }
            await withDiscardingTaskGroup { group in
                group.addTask { [stuck, consumer] in
                    await stuck.run(
                        until: drain,
                        { message, limiter in await work([message], limiter, detached) },
                        release: consumer.release
                    )
                }
                await takeBatches(until: drain, detached, work)
                stuck.finish()
            }
            detached.finish()
        }
        await consumer.close()
    }

    private func takeBatches(until drain: DrainSignal, _ detached: DetachedWork, _ work: @escaping Work) async {
        let limiter = ConcurrencyLimiter(places: batchesAtOnce)
        await withDiscardingTaskGroup { group in
            group.addTask { [consumer, stuck] in
                await drain.wait()
                consumer.stop()
                stuck.open()
            }
            while true {
                await limiter.enter()
                await detached.room()
                await stuck.room()
                guard let messages = await consumer.next(atMost: batch, bytes: Self.batchBytes) else { break }
                await clocks?.hold(until: drain)
                // A drain returns these messages, which were not started, with the end of the connection.
                if drain.isDraining || Task.isCancelled, let clocks, clocks.verdict != .agree { break }
                arrived(messages)
                group.addTask { await work(messages, limiter, detached) }
            }
            limiter.leave()
        }
    }
}
