import ServiceRuntime
import TestSupport
import Testing

@Suite("Drain signal", .limitedConcurrency, .timeLimit(.ofTest))
struct DrainSignalTests {
    @Test("all waiting tasks are woken, and later ones do not wait")
    func fire() async {
        let drain = DrainSignal()
        #expect(!drain.isDraining)
        let waiting = (0..<50).map { _ in Task { await drain.wait() } }
        drain.fire()
        drain.fire()
        for task in waiting { await task.value }
        await drain.wait()
        #expect(drain.isDraining)
    }

    @Test("a cancelled task stops waiting without a signal")
    func cancellation() async {
        let drain = DrainSignal()
        for _ in 0..<200 {
            let task = Task { await drain.wait() }
            task.cancel()
            await task.value
        }
        #expect(!drain.isDraining)
    }
}
