import ServiceRuntime
import Synchronization
import TestSupport
import Testing

/// A service made of a closure.
private struct FakeService: Service {
    let name: String
    let body: @Sendable (DrainSignal) async throws -> Void

    func run(until drain: DrainSignal) async throws {
        try await body(drain)
    }
}

/// A group's surroundings that a test controls.
private final class GroupFixture: Sendable {
    let signals: AsyncStream<ProcessSignal>
    let send: AsyncStream<ProcessSignal>.Continuation
    let exits = Mutex<[ExitCode]>([])
    let log = CapturedLog()
    /// Fires when the drain's time must end.
    let timeUp = DrainSignal()
    /// Fires when the echo time of the first signal must end.
    let echoesOver = DrainSignal()
    let notes = Mutex<[String]>([])

    init() {
        (signals, send) = AsyncStream.makeStream()
    }

    var noted: [String] { notes.withLock { $0 } }
    var exited: [ExitCode] { exits.withLock { $0 } }

    func note(_ text: String) {
        notes.withLock { $0.append(text) }
    }

    func group(_ services: [FakeService]) -> ServiceGroup {
        ServiceGroup(
            services,
            drainTimeout: .seconds(20),
            logger: Logger(label: "group", sink: log),
            context: ServiceGroup.Context(
                arrivals: { [signals] _ in signals },
                sleep: { span in
                    await (span == .seconds(1) ? self.echoesOver : self.timeUp).wait()
                },
                endProcess: { code in self.exits.withLock { $0.append(code) } }
            )
        )
    }
}

private struct ServiceFailure: Error {}

@Suite("Service group", .limitedConcurrency, .timeLimit(.ofTest))
struct ServiceGroupTests {
    @Test("all services run until the signal and finish their work before the group ends")
    func drain() async throws {
        let hand = GroupFixture()
        let services = ["a", "b"].map { name in
            FakeService(name: name) { drain in
                hand.note("\(name) started")
                await drain.wait()
                hand.note("\(name) draining")
                await Task.yield()
                hand.note("\(name) done")
            }
        }
        async let ending = hand.group(services).run()
        try await eventually { hand.notes.withLock { $0.count == 2 } }
        hand.send.yield(.terminate)
        guard case .drained(.signal(.terminate)) = await ending else {
            Issue.record("ended otherwise")
            return
        }
        let notes = hand.noted
        #expect(Set(notes.prefix(2)) == ["a started", "b started"])
        #expect(notes.contains("a done") && notes.contains("b done"))
        #expect(hand.log.messages.contains("draining"))
    }

    @Test("a service that does not finish in time is cancelled and named")
    func timeout() async throws {
        let hand = GroupFixture()
        let quick = FakeService(name: "quick") { await $0.wait() }
        let stuck = FakeService(name: "stuck") { _ in
            hand.send.yield(.terminate)
            try await Task.sleep(for: .seconds(3_600))
        }
        async let ending = hand.group([quick, stuck]).run()
        try await eventually { hand.log.messages.contains("a service ended") }
        hand.timeUp.fire()
        guard case .timedOut(let names) = await ending else {
            Issue.record("ended otherwise")
            return
        }
        #expect(names == ["stuck"])
    }

    @Test("a service that ignores its cancellation cannot block the group")
    func ignoredCancellation() async {
        let hand = GroupFixture()
        let release = DrainSignal()
        let deaf = FakeService(name: "deaf") { _ in
            hand.send.yield(.terminate)
            await Task { await release.wait() }.value
        }
        hand.timeUp.fire()
        guard case .timedOut(["deaf"]) = await hand.group([deaf]).run() else {
            Issue.record("ended otherwise")
            return
        }
        release.fire()
    }

    @Test("a service that throws drains the others, and its error names the end")
    func failure() async {
        let hand = GroupFixture()
        let holder = FakeService(name: "holder") { drain in
            await drain.wait()
            hand.note("holder drained")
        }
        let broken = FakeService(name: "broken") { _ in throw ServiceFailure() }
        guard case .failed("broken", is ServiceFailure) = await hand.group([holder, broken]).run() else {
            Issue.record("ended otherwise")
            return
        }
        #expect(hand.notes.withLock { $0 } == ["holder drained"])
        #expect(hand.log.records.contains { $0.level == .error && $0.fields["service"] == "broken" })
    }

    @Test("a service that returns early drains the others")
    func earlyReturn() async {
        let hand = GroupFixture()
        let holder = FakeService(name: "holder") { await $0.wait() }
        let hasty = FakeService(name: "hasty") { _ in }
        guard case .returnedEarly("hasty") = await hand.group([holder, hasty]).run() else {
            Issue.record("ended otherwise")
            return
        }
    }

    @Test("a second signal ends the process immediately, and an echo of the first does not")
    func secondSignal() async throws {
        let hand = GroupFixture()
        let release = DrainSignal()
        let slow = FakeService(name: "slow") { _ in
            hand.send.yield(.interrupt)
            hand.send.yield(.terminate)
            await release.wait()
        }
        async let ending = hand.group([slow]).run()
        try await eventually { hand.log.messages.contains("draining already") }
        #expect(hand.exited.isEmpty)
        hand.echoesOver.fire()
        try await eventually {
            hand.send.yield(.interrupt)
            return hand.exited.first == .tryAgain
        }
        release.fire()
        _ = await ending
    }

    @Test("cancelling the task that runs the group drains it")
    func cancellation() async throws {
        let hand = GroupFixture()
        let holder = FakeService(name: "holder") { drain in
            hand.note("started")
            await drain.wait()
            hand.note(Task.isCancelled ? "cancelled" : "drained")
        }
        let running = Task { await hand.group([holder]).run() }
        try await eventually { hand.notes.withLock { $0 } == ["started"] }
        running.cancel()
        guard case .drained(.request) = await running.value else {
            Issue.record("ended otherwise")
            return
        }
        #expect(hand.notes.withLock { $0 } == ["started", "drained"])
    }

    @Test("a group without services ends immediately")
    func nobody() async {
        guard case .drained = await GroupFixture().group([]).run() else {
            Issue.record("ended otherwise")
            return
        }
    }
}
