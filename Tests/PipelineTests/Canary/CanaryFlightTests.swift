import Testing

@testable import Pipeline

@Suite("A canary's flight")
struct CanaryFlightTests {
    private let start = ContinuousClock.now

    @Test("a worker is ready when the first one is back, and not before")
    func first() {
        var flight = CanaryFlight()
        #expect(flight.whatIsWrong(at: start) == "its canary is not back yet")
        flight.sent(at: start)
        #expect(flight.whatIsWrong(at: start) == "its canary is not back yet: not consumed")
        flight.cameBack()
        #expect(flight.whatIsWrong(at: start) == nil)
    }

    @Test("one that takes a while is no fault; one that takes long is told until another is back")
    func overdue() {
        var flight = CanaryFlight()
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
        // The next one gets away, and that is no proof yet.
        flight.sent(at: start + .seconds(52))
        #expect(flight.whatIsWrong(at: start + .seconds(52)) == "\(words): not consumed")
        flight.cameBack()
        #expect(flight.whatIsWrong(at: start + .seconds(52)) == nil)
        #expect(flight.age(at: start + .seconds(52)) == .zero)
    }

    @Test("a lane that may have none says so at once, as one that takes messages, and its age goes on")
    func kept() {
        var flight = CanaryFlight()
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

    @Test("the next is due ten seconds after the last, a second after a failure, at once where nobody sent it")
    func rhythm() {
        var flight = CanaryFlight()
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
