import AMQP
import ServiceRuntime

/// Takes batches off a consumer, several at a time, until the drain fires; then finishes those in hand.
///
/// What was not begun goes back to the queue.
struct BatchLoop: Sendable {
    let consumer: Consumer
    /// Messages in one batch at most.
    let batch: Int
    /// Batches at once; each gives its place back by itself, which may be before it has ended.
    let batchesAtOnce: Int

    func run(until drain: DrainSignal, _ work: @escaping @Sendable ([IncomingMessage], Gate) async -> Void) async {
        consumer.start()
        let gate = Gate(places: batchesAtOnce)
        await withDiscardingTaskGroup { group in
            group.addTask { [consumer] in
                await drain.wait()
                consumer.stop()
            }
            while true {
                await gate.enter()
                guard let messages = await consumer.next(atMost: batch) else { break }
                group.addTask { await work(messages, gate) }
            }
            gate.leave()
        }
        await consumer.close()
    }
}
