import Testing

@testable import Pipeline

@Suite("States of a canary")
struct CanaryStateTests {
    private let start = ContinuousClock.now

    @Test("a worker is ready after the first canary has returned, and not before")
    func first() {
        var flight = CanaryState()
        #expect(flight.whatIsWrong(at: start) == "its canary is not back yet")
        flight.sent(at: start)
        #expect(flight.whatIsWrong(at: start) == "its canary is not back yet: not consumed")
        flight.cameBack()
        #expect(flight.whatIsWrong(at: start) == nil)
    }

    @Test("a canary of 15 seconds is not a problem; one of 42 seconds is a problem until another one has returned")
    func overdue() {
        var flight = CanaryState()
        flight.sent(at: start)
        flight.cameBack()
        flight.sent(at: start + .seconds(10))
        #expect(flight.whatIsWrong(at: start + .seconds(25)) == nil)
        #expect(flight.age(at: start + .seconds(25)) == .seconds(15))
        flight.sent(at: start + .seconds(20))
        let words = "its canary has been in flight for 42 s"
        #expect(flight.whatIsWrong(at: start + .seconds(52)) == "\(words): not consumed")
        flight.failed("rejected by the broker")
        #expect(flight.whatIsWrong(at: start + .seconds(52)) == "\(words): rejected by the broker")
        // The next canary is published, but its return is still missing.
        flight.sent(at: start + .seconds(52))
        #expect(flight.whatIsWrong(at: start + .seconds(52)) == "\(words): not consumed")
        flight.cameBack()
        #expect(flight.whatIsWrong(at: start + .seconds(52)) == nil)
        #expect(flight.age(at: start + .seconds(52)) == .zero)
    }

    @Test("a lane that may have no canary reports it immediately, takes messages, and its canary's age grows")
    func kept() {
        var flight = CanaryState()
        flight.kept(at: start, "cannot read from queue q: the broker answers 403")
        let words = flight.whatIsWrong(at: start)
        let told = "it takes messages, and may have no canary to prove it: cannot read from queue q"
        #expect(words?.hasPrefix(told) == true)
        #expect(flight.pause(at: start) == .seconds(1))
        #expect(flight.age(at: start + .seconds(70)) == .seconds(70))
        flight.missed(at: start + .seconds(70), "the broker is away")
        #expect(flight.whatIsWrong(at: start + .seconds(70))?.hasSuffix("70 s: the broker is away") == true)
        flight.kept(at: start + .seconds(80), "403")
        flight.sent(at: start + .seconds(81))
        flight.cameBack()
        #expect(flight.whatIsWrong(at: start + .seconds(81)) == nil)
    }

    @Test("the next canary is due 10 s after the last, 1 s after a failure, and immediately if none was sent")
    func rhythm() {
        var flight = CanaryState()
        #expect(flight.isDue(at: start))
        flight.missed(at: start, "the broker is away")
        #expect(flight.isDue(at: start))
        #expect(flight.whatIsWrong(at: start + .seconds(20))?.contains("the broker is away") == true)
        flight.sent(at: start)
        #expect(!flight.isDue(at: start + .seconds(9)))
        #expect(flight.isDue(at: start + .seconds(10)))
        flight.failed("rejected by the broker")
        #expect(!flight.isDue(at: start + .milliseconds(900)))
        #expect(flight.isDue(at: start + .seconds(1)))
        flight.cameBack()
        #expect(!flight.isDue(at: start + .seconds(9)))
        #expect(flight.pause(at: start) == .seconds(10))
        #expect(flight.pause(at: start + .seconds(60)) == .seconds(1))
    }
}
