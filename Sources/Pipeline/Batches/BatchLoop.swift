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
    /// Where batches leave the messages that the database fails on alone.
    let stuck: StuckMessages
    /// Nothing is taken while it reports that the clocks differ.
    let clocks: ClockWatch?
    /// Is told of each batch as it arrives, and not of what is processed again.
    var arrived: @Sendable ([IncomingMessage]) -> Void = { _ in }

    /// Bytes of one batch, unless a single message has more: read into trees of JSON they take up to twenty times as much.
    static let batchBytes = 2 << 20

    /// One batch at work: it leaves the gate when others may come in, and leaves aside what has to wait.
    typealias Work = @Sendable (_ batch: [IncomingMessage], Gate, Asides) async -> Void

    func run(until drain: DrainSignal, _ work: @escaping Work) async {
        await clocks?.hold(until: drain)
        consumer.start()
        let asides = Asides()
        await withDiscardingTaskGroup { group in
            group.addTask { await asides.run() }
            await withDiscardingTaskGroup { group in
                group.addTask { [stuck, consumer] in
                    await stuck.run(
                        until: drain,
                        { message, gate in await work([message], gate, asides) },
                        release: consumer.release
                    )
                }
                await takeBatches(until: drain, asides, work)
                stuck.finish()
            }
            asides.finish()
        }
        await consumer.close()
    }

    private func takeBatches(until drain: DrainSignal, _ asides: Asides, _ work: @escaping Work) async {
        let gate = Gate(places: batchesAtOnce)
        await withDiscardingTaskGroup { group in
            group.addTask { [consumer, stuck] in
                await drain.wait()
                consumer.stop()
                stuck.open()
            }
            while true {
                await gate.enter()
                await asides.room()
                await stuck.room()
                guard let messages = await consumer.next(atMost: batch, bytes: Self.batchBytes) else { break }
                await clocks?.hold(until: drain)
                // What a drain finds here was not begun: it goes back with the end of the connection.
                if drain.isDraining || Task.isCancelled, let clocks, clocks.verdict != .agree { break }
                arrived(messages)
                group.addTask { await work(messages, gate, asides) }
            }
            gate.leave()
        }
    }
}
