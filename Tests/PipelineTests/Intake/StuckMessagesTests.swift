import AMQP
import BellhopRules
import IntegrationSupport
import ServiceRuntime
import Settings
import Synchronization
import TestSupport
import Testing

@testable import Pipeline

@Suite("Messages that are set aside")
struct StuckMessagesTests {
    private let broker = MemoryBroker()
    private let time = SkippingTime()

    private func stuck(limit: Int = 4) throws -> StuckMessages {
        let names = TopologyNames(try #require(Namespace("stuck")))
        return StuckMessages(lane: "normal", names: names, context: .test(time: time, chance: .system), limit: limit)
    }

    private func givenUp(_ count: Int) -> [OpenMessages.Abandoned] {
        (0..<count).map { _ in
            let message = broker.arriving(Array("{}".utf8), from: "q", by: "x", "k")
            return OpenMessages.Abandoned(tag: message.tag, message: message, why: "invalid page")
        }
    }

    private final class Attempts: Sendable {
        private let state = Mutex<[Instant]>([])
        var all: [Instant] { state.withLock { $0 } }
        func add(_ time: Instant) -> Int {
            state.withLock { state in
                state.append(time)
                return state.count
            }
        }
    }

    @Test("a message is processed again after increasing pauses, up to a minute, until its batch has finished it")
    func again() async throws {
        let (stuck, attempts) = (try stuck(), Attempts())
        let one = givenUp(1)
        stuck.add(one)
        #expect(stuck.count == 1)
        await stuck.run(
            until: DrainSignal(),
            { [time] message, gate in
                #expect(message.redelivered)
                let count = attempts.add(time.now())
                if count < 12 { stuck.add(one) } else { stuck.finish() }
                gate.leave()
            },
            release: { _ in }
        )
        #expect(stuck.count == 0)
        let pauses = zip(attempts.all, attempts.all.dropFirst()).map { $1 - $0 }
        #expect(pauses.count == 11)
        #expect(pauses.allSatisfy { $0 >= .seconds(1) && $0 <= .seconds(60) })
        #expect(pauses.suffix(3).allSatisfy { $0 >= .seconds(30) })
    }

    @Test("a message that stays set aside returns to its queue before the broker's timeout for its consumer")
    func longest() async throws {
        let stuck = try stuck()
        let one = givenUp(1)
        stuck.add(one)
        let start = time.steady()
        let released = Mutex<[DeliveryTag]>([])
        await stuck.run(
            until: DrainSignal(),
            { _, gate in
                stuck.add(one)
                gate.leave()
            },
            release: { tags in
                released.withLock { $0 += tags }
                stuck.finish()
            }
        )
        #expect(released.withLock { $0 } == one.map(\.tag))
        #expect(stuck.count == 0)
        let span = time.steady() - start
        #expect(span >= .seconds(20 * 60) && span < .seconds(30 * 60))
    }

    @Test("at the limit the lane takes in no message, and the worker reports it")
    func limit() async throws {
        let stuck = try stuck(limit: 3)
        stuck.add(givenUp(2))
        await stuck.room()
        #expect(stuck.whatIsWrong == nil)
        stuck.add(givenUp(1))
        #expect(stuck.whatIsWrong == "3 messages are set aside, which is the limit; see the log")
        async let room: Void = stuck.room()
        stuck.open()
        await room
    }

    @Test("a worker is not ready while messages are set aside and nothing else is stored")
    func nothingElse() async throws {
        let stuck = try stuck()
        stuck.add(givenUp(1))
        time.skip(.seconds(20))
        #expect(stuck.whatIsWrong == "1 messages are set aside, and nothing else has been stored since")
        stuck.noteAnswer()
        #expect(stuck.whatIsWrong == nil)
    }

    @Test(
        "a message whose content its batch no longer holds returns to its queue, because it cannot be processed again"
    )
    func back() async throws {
        let stuck = try stuck()
        let tag = broker.arriving([], from: "q", by: "x", "k").tag
        stuck.add([OpenMessages.Abandoned(tag: tag, message: nil, why: nil)])
        let released = Mutex<[DeliveryTag]>([])
        await stuck.run(
            until: DrainSignal(),
            { _, gate in gate.leave() },
            release: { tags in
                released.withLock { $0 += tags }
                stuck.finish()
            }
        )
        #expect(released.withLock { $0 } == [tag])
    }
}
