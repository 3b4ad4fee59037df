import ServiceRuntime
import Synchronization
import TestSupport
import Testing

@Suite("The loop of a duty", .limitedConcurrency, .timeLimit(.ofTest))
struct DutyLoopTests {
    private struct Refusal: Error {}

    /// The record of a loop: its turns so far, and the log.
    private final class Record: Sendable {
        let turns = Mutex(0)
        let log = CapturedLog()

        var count: Int { turns.withLock { $0 } }

        func loop(every interval: Duration) -> DutyLoop {
            DutyLoop(
                interval: interval,
                trouble: "nobody can be asked",
                chance: .system,
                logger: Logger(label: "test", sink: log)
            )
        }

        /// Begins a turn and returns its number, from 1.
        func begin() -> Int {
            turns.withLock { count in
                count += 1
                return count
            }
        }

        /// The pauses that the log reports with the failures.
        var pauses: [Duration] {
            log.records.compactMap { record in
                guard case .span(let pause) = record.fields["again"] else { return nil }
                return pause
            }
        }
    }

    @Test("a full batch continues immediately, or after a short pause if the turn requests one")
    func fullLoad() async {
        let (record, drain) = (Record(), DrainSignal())
        // An unrequested pause would outlast the test.
        await record.loop(every: .seconds(86_400)).run(until: drain) {
            let turn = record.begin()
            if turn == 5 { drain.fire() }
            return turn.isMultiple(of: 2) ? .after(.milliseconds(1)) : .atOnce
        }
        #expect(record.count == 5)
        #expect(record.log.messages.isEmpty)
    }

    @Test("no turn begins while it may not, and one begins as soon as it may")
    func held() async {
        let (record, asked, drain) = (Record(), Record(), DrainSignal())
        let loop = DutyLoop(
            interval: .milliseconds(1),
            trouble: "nobody can be asked",
            chance: .system,
            logger: Logger(label: "test", sink: record.log),
            mayBegin: { asked.begin() > 3 }
        )
        await loop.run(until: drain) {
            _ = record.begin()
            drain.fire()
            return .later
        }
        #expect(record.count == 1)
        #expect(asked.count == 4)
    }

    @Test("an empty turn is followed by a pause, which the drain ends")
    func rest() async {
        let (record, drain) = (Record(), DrainSignal())
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await record.loop(every: .seconds(86_400)).run(until: drain) {
                    _ = record.begin()
                    return .later
                }
            }
            while record.count == 0 { await Task.yield() }
            // Enough time for a loop that does not pause.
            for _ in 0..<10_000 { await Task.yield() }
            drain.fire()
        }
        #expect(record.count == 1)
    }

    @Test("a turn begins again after the interval")
    func interval() async {
        let (record, drain) = (Record(), DrainSignal())
        await record.loop(every: .milliseconds(1)).run(until: drain) {
            if record.begin() == 3 { drain.fire() }
            return .later
        }
        #expect(record.count == 3)
    }

    @Test("a failure is logged and retried with growing pauses, which start again after a success")
    func failure() async {
        let (record, drain) = (Record(), DrainSignal())
        await record.loop(every: .milliseconds(2)).run(until: drain) {
            switch record.begin() {
            case 6: return .atOnce
            case 7:
                drain.fire()
                throw Refusal()
            default: throw Refusal()
            }
        }
        #expect(record.count == 7)
        let failures = record.log.records
        #expect(failures.count == 6)
        #expect(failures.allSatisfy { $0.level == .warning && $0.message == "nobody can be asked" })
        #expect(failures.allSatisfy { $0.fields["error"] != nil })
        for (pause, ceiling) in zip(record.pauses, [2, 4, 8, 16, 32, 2]) {
            #expect(pause >= .milliseconds(ceiling) / 2 && pause <= .milliseconds(ceiling))
        }
        #expect(record.pauses.count == 6)
    }

    @Test("a duty with a long interval tries again soon after a failure")
    func soon() async {
        let (record, drain) = (Record(), DrainSignal())
        await record.loop(every: .seconds(86_400)).run(until: drain) {
            _ = record.begin()
            drain.fire()
            throw Refusal()
        }
        #expect(record.pauses.count == 1)
        #expect(record.pauses.allSatisfy { $0 <= .seconds(1) })
    }

    @Test("no turn begins after the drain has begun or the task was cancelled")
    func over() async {
        let (record, drain) = (Record(), DrainSignal())
        let cancelled = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            await record.loop(every: .milliseconds(1)).run(until: DrainSignal()) {
                _ = record.begin()
                return .atOnce
            }
        }
        await cancelled.value
        drain.fire()
        await record.loop(every: .milliseconds(1)).run(until: drain) {
            _ = record.begin()
            return .atOnce
        }
        #expect(record.count == 0)
    }
}
