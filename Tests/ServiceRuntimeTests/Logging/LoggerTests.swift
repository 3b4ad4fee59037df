import ServiceRuntime
import Synchronization
import TestSupport
import Testing

@Suite("Logger")
struct LoggerTests {
    @Test("a message below the level is neither written nor evaluated")
    func laziness() {
        let log = CapturedLog()
        let evaluated = Mutex(0)
        func costly() -> String {
            evaluated.withLock { $0 += 1 }
            return "costly"
        }
        let logger = Logger(label: "test", level: .warning, sink: log)
        logger.debug(costly(), ["value": .text(costly())])
        logger.info(costly())
        logger.notice(costly())
        #expect(evaluated.withLock { $0 } == 0)
        logger.warning(costly())
        logger.error(costly())
        #expect(evaluated.withLock { $0 } == 2)
        #expect(log.records.map(\.level) == [.warning, .error])
    }

    @Test("fixed fields come first, and the later value of a name is used")
    func fields() {
        let log = CapturedLog()
        let time = ManualTime(Instant(seconds: 7))
        let logger = Logger(label: "test", sink: log, fields: ["lane": "bulk", "n": 1], time: time)
            .with(["worker": 3])
            .labelled("consumer")
        logger.info("hello", ["n": 2])
        let record = log.records.first
        #expect(record?.fields == ["lane": "bulk", "worker": 3, "n": 2])
        #expect(record?.label == "consumer")
        #expect(record?.time == Instant(seconds: 7))
    }
}
