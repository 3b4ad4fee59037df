import TestSupport
import Testing
import Workbench

@testable import Pipeline

@Suite("Windows of providers", .timeLimit(.minutes(5)))
struct SendWindowTests {
    private static var far: ContinuousClock.Instant { .now + .seconds(3600) }
    private static let patient = Duration.seconds(3600)

    @Test("a tenth is kept for urgent messages, and places that are given back are there again")
    func reserve() async {
        let window = SendWindow(capacity: 20)
        let first = await window.acquire(upTo: 30, for: .normal, until: Self.far, patience: .zero)
        let urgent = await window.acquire(upTo: 30, for: .urgent, until: Self.far, patience: .zero)
        #expect([first, urgent] == [18, 2])
        window.release(18, of: .normal)
        let again = await window.acquire(upTo: 5, for: .bulk, until: Self.far, patience: .zero)
        #expect(again == 5)
        #expect(window.inFlight == 7)
    }

    @Test("who comes to a full window that moves gets the next places, urgent ones first")
    func waiting() async throws {
        let window = SendWindow(capacity: 10)
        _ = await window.acquire(upTo: 10, for: .urgent, until: Self.far, patience: Self.patient)
        async let normal = window.acquire(upTo: 3, for: .normal, until: Self.far, patience: Self.patient)
        try await eventually("one waits") { window.waiting == 1 }
        async let urgent = window.acquire(upTo: 10, for: .urgent, until: Self.far, patience: Self.patient)
        try await eventually("two wait") { window.waiting == 2 }
        window.release(10, of: .urgent)
        #expect(await urgent == 10)
        window.release(4, of: .urgent)
        #expect(await normal == 3)
    }

    @Test("a lane takes no more than its limit, and one that waits for its own places holds no other up")
    func lanes() async throws {
        let window = SendWindow(capacity: 20, limits: [.urgent: 4, .normal: 10])
        let normal = await window.acquire(upTo: 30, for: .normal, until: Self.far, patience: Self.patient)
        let urgent = await window.acquire(upTo: 30, for: .urgent, until: Self.far, patience: Self.patient)
        #expect([normal, urgent] == [10, 4])
        async let more = window.acquire(upTo: 2, for: .normal, until: Self.far, patience: Self.patient)
        try await eventually("one waits") { window.waiting == 1 }
        let bulk = await window.acquire(upTo: 30, for: .bulk, until: Self.far, patience: .zero)
        #expect(bulk == 4)
        window.release(4, of: .urgent)
        #expect(window.waiting == 1)
        window.release(1, of: .normal)
        #expect(await more == 1)
    }

    @Test("a window that has stood still for as long as the patience refuses at once, and a deadline ends the wait")
    func standingStill() async {
        let window = SendWindow(capacity: 10)
        _ = await window.acquire(upTo: 10, for: .urgent, until: Self.far, patience: Self.patient)
        let still = await window.acquire(upTo: 1, for: .normal, until: Self.far, patience: .zero)
        let late = await window.acquire(upTo: 1, for: .normal, until: .now, patience: Self.patient)
        let soon = await window.acquire(
            upTo: 1,
            for: .normal,
            until: .now + .milliseconds(50),
            patience: Self.patient
        )
        #expect([still, late, soon] == [0, 0, 0])
        #expect(window.waiting == 0)
    }

    @Test("a cancelled caller gets nothing and leaves the line")
    func cancellation() async throws {
        let window = SendWindow(capacity: 1)
        _ = await window.acquire(upTo: 1, for: .urgent, until: Self.far, patience: Self.patient)
        let caller = Task { await window.acquire(upTo: 1, for: .urgent, until: Self.far, patience: Self.patient) }
        try await eventually("it waits") { window.waiting == 1 }
        caller.cancel()
        #expect(await caller.value == 0)
        #expect(window.waiting == 0)
    }
}

/// Waits for a condition, with a deadline.
private func eventually(_ what: String, _ condition: () -> Bool) async throws {
    let deadline = ContinuousClock.now + LongestWait.duration
    while !condition() {
        guard ContinuousClock.now < deadline else { throw BenchError("never happened: \(what)") }
        try await Task.sleep(for: .milliseconds(5))
    }
}
