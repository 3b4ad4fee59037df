import ServiceRuntime
import Testing

@testable import Postgres

/// The pool's decisions without a server, a thread or a clock.
@Suite("Decisions of a pool")
struct PoolStateTests {
    private let start = ContinuousClock.now

    private func after(_ seconds: Int) -> ContinuousClock.Instant { start + .seconds(seconds) }

    /// Returns a pool with `busy` submitted callers, in which all started slots are connected.
    private func pool(size: ClosedRange<Int>, busy: Int) -> PoolState<String> {
        var state = PoolState<String>(size: size)
        for number in 0..<busy {
            guard case .wait(let starting) = state.submit("first \(number)", deadline: after(10), now: start) else {
                Issue.record("a pool that is too small serves nothing immediately")
                break
            }
            for slot in starting { _ = state.connected(slot, now: start) }
        }
        return state
    }

    @Test("the first caller waits for the connection that it causes, and gets it")
    func firstCaller() {
        var state = PoolState<String>(size: 1...2)
        guard case .wait(let starting) = state.submit("a", deadline: after(10), now: start) else {
            Issue.record("nothing is open yet")
            return
        }
        #expect(starting == [1])
        #expect(state.phases == [1: .connecting])
        #expect(state.connected(1, now: start).turn.served == "a")
        #expect(state.phases == [1: .busy])
        #expect(state.waiting.isEmpty)
    }

    @Test("a free connection is used before another is opened, and the most recently used one is first")
    func lastUsedFirst() {
        var state = pool(size: 0...3, busy: 3)
        for slot in [2, 3, 1] { #expect(state.released(slot).isRest) }
        #expect(state.submit("a", deadline: after(10), now: start).slot == 1)
        #expect(state.submit("b", deadline: after(10), now: start).slot == 3)
        #expect(state.count(.busy) == 2 && state.count(.idle) == 1)
    }

    @Test("callers are served in order of arrival, and no slot is opened beyond the size")
    func inLine() {
        var state = pool(size: 0...2, busy: 2)
        for name in ["a", "b", "c"] {
            #expect(state.submit(name, deadline: after(10), now: start).starting == [])
        }
        #expect(state.released(2).served == "a")
        #expect(state.released(1).served == "b")
        #expect(state.released(1).served == "c")
        #expect(state.released(2).isRest)
    }

    @Test("one slot is opened for each caller that no opening slot serves")
    func growth() {
        var state = PoolState<String>(size: 0...8)
        #expect(state.submit("a", deadline: after(10), now: start).starting == [1])
        #expect(state.submit("b", deadline: after(10), now: start).starting == [2])
        #expect(state.connected(1, now: start).turn.served == "a")
        // Slot 2 is still connecting for b.
        #expect(state.submit("c", deadline: after(10), now: start).starting == [3])
        #expect(state.released(1).served == "b")
        #expect(state.connected(2, now: start).turn.served == "c")
        #expect(state.connected(3, now: start).turn.isRest)
    }

    @Test("callers leave at their deadline, and the others keep their place")
    func expiry() {
        var state = pool(size: 0...1, busy: 1)
        _ = state.submit("long", deadline: after(20), now: start)
        _ = state.submit("short", deadline: after(5), now: start)
        #expect(state.nextDeadline == after(5))
        #expect(state.expire(now: after(4)).isEmpty)
        #expect(state.expire(now: after(5)) == ["short"])
        #expect(state.nextDeadline == after(20))
        #expect(state.released(1).served == "long")
        #expect(state.nextDeadline == nil)
    }

    @Test("a caller that gives up leaves the queue, and only once")
    func abandonment() {
        var state = pool(size: 0...1, busy: 1)
        _ = state.submit("a", deadline: after(9), now: start)
        _ = state.submit("b", deadline: after(9), now: start)
        #expect(state.abandon { $0 == "a" } == "a")
        #expect(state.abandon { $0 == "a" } == nil)
        #expect(state.released(1).served == "b")
    }

    @Test("a lost connection is replaced if a caller waits or the pool would fall below its lower bound")
    func replacement() {
        var wanted = pool(size: 0...1, busy: 1)
        _ = wanted.submit("a", deadline: after(9), now: start)
        #expect(wanted.lost(1).reconnects)
        #expect(wanted.phases == [1: .connecting])

        var idle = pool(size: 0...1, busy: 1)
        #expect(!idle.lost(1).reconnects)
        #expect(idle.phases.isEmpty)

        var least = pool(size: 2...4, busy: 2)
        #expect(least.lost(1).reconnects)
    }

    @Test("a request that a dead connection has not begun goes to a free one, or before all waiting ones")
    func unserved() {
        var free = pool(size: 0...2, busy: 2)
        _ = free.released(2)
        let handed = free.lost(1, unserved: .init(request: "a", deadline: after(9)))
        #expect(handed.successor == 2 && !handed.reconnects)
        #expect(free.phases == [2: .busy])

        var full = pool(size: 0...1, busy: 1)
        _ = full.submit("later", deadline: after(9), now: start)
        let queued = full.lost(1, unserved: .init(request: "a", deadline: after(9)))
        #expect(queued.successor == nil && queued.reconnects)
        #expect(full.waiting.map(\.request) == ["a", "later"])
    }

    @Test("one slot tries with growing pauses while the server is unavailable, and then all callers are served")
    func outage() {
        var state = PoolState<String>(size: 0...4)
        for name in ["a", "b", "c"] { _ = state.submit(name, deadline: after(60), now: start) }
        #expect(state.refused(1, now: start, chance: 0).pause == nil)
        #expect(state.refused(2, now: start, chance: 0).pause == nil)
        #expect(state.refused(3, now: start, chance: 1).pause == .milliseconds(50))
        #expect(state.phases == [3: .backingOff])
        #expect(state.submit("d", deadline: after(60), now: start).starting == [])
        let allowed = state.retries(3)
        #expect(allowed)
        #expect(state.refused(3, now: after(1), chance: 1).pause == .milliseconds(100))
        _ = state.retries(3)
        let (turn, starting) = state.connected(3, now: after(2))
        #expect(turn.served == "a")
        #expect(starting.count == 3)
    }

    @Test("a server without room leaves the pool with its connections, and growth waits")
    func noRoom() {
        var state = pool(size: 0...4, busy: 1)
        #expect(state.submit("a", deadline: after(60), now: start).starting == [2])
        #expect(state.refused(2, now: start, chance: 0).pause == nil)
        #expect(state.submit("b", deadline: after(60), now: start).starting == [])
        #expect(state.released(1).served == "a")
        // The pause of 100 ms is over, so that both waiting callers get a slot.
        #expect(state.submit("c", deadline: after(60), now: after(1)).starting?.count == 2)
    }

    @Test("a permanent refusal rejects all waiting callers")
    func dismissal() {
        var state = PoolState<String>(size: 0...1)
        _ = state.submit("a", deadline: after(9), now: start)
        _ = state.submit("b", deadline: after(9), now: start)
        #expect(state.dismissWaiting() == ["a", "b"])
        #expect(state.refused(1, now: start, chance: 0).pause == nil)
        #expect(state.phases.isEmpty)
        // The next caller causes a new attempt immediately, even during the pause.
        #expect(state.submit("c", deadline: after(9), now: start).starting == [2])
    }

    @Test("an idle connection above the lower bound is closed, and a required one is kept")
    func retirement() {
        var state = pool(size: 1...2, busy: 2)
        #expect(!state.mutated { $0.retires(1) })
        _ = state.released(1)
        #expect(state.mutated { $0.retires(1) })
        #expect(state.phases == [2: .busy])
        _ = state.released(2)
        #expect(!state.mutated { $0.retires(2) })
        #expect(state.submit("a", deadline: after(9), now: start).slot == 2)
    }

    @Test("a connection that is being checked is given to no caller")
    func borrowing() {
        var state = pool(size: 1...1, busy: 1)
        #expect(!state.mutated { $0.borrows(1) })
        _ = state.released(1)
        #expect(state.mutated { $0.borrows(1) })
        #expect(state.submit("a", deadline: after(9), now: start).starting == [])
        #expect(state.released(1).served == "a")
    }

    @Test("a closed pool accepts nothing, rejects waiting callers and ends every slot")
    func closing() {
        var state = pool(size: 0...2, busy: 2)
        _ = state.submit("a", deadline: after(9), now: start)
        #expect(state.close() == ["a"])
        #expect(state.submit("b", deadline: after(9), now: start).isRefused)
        #expect(state.released(1).isEnd)
        #expect(!state.lost(2).reconnects)
        #expect(!state.mutated { $0.retries(2) })
        state.ended(1)
        #expect(state.phases.isEmpty)
    }

    @Test("pauses double from 100 ms to 5 s and are spread over their upper half")
    func pauses() {
        var backoff = Backoff.ofServer
        let whole = (0..<8).map { _ in backoff.next(chance: 0) }
        #expect(whole == [100, 200, 400, 800, 1600, 3200, 5000, 5000].map { .milliseconds($0) })
        backoff.reset()
        #expect(backoff.next(chance: 1) == .milliseconds(50))
    }
}

/// Names for the cases, so that expectations are easy to read.
extension PoolState.SlotAction {
    fileprivate var served: Request? {
        if case .serve(let request) = self { request } else { nil }
    }

    fileprivate var isRest: Bool {
        if case .rest = self { true } else { false }
    }

    fileprivate var isEnd: Bool {
        if case .end = self { true } else { false }
    }
}

extension PoolState.Submission {
    fileprivate var slot: Int? {
        if case .run(let slot) = self { slot } else { nil }
    }

    fileprivate var starting: [Int]? {
        if case .wait(let starting) = self { starting } else { nil }
    }

    fileprivate var isRefused: Bool {
        if case .refuse = self { true } else { false }
    }
}

extension PoolState.Refusal {
    fileprivate var pause: Duration? {
        if case .retry(let pause) = self { pause } else { nil }
    }
}

extension PoolState {
    /// Applies a mutating call inside `#expect`, which takes its operands as constants.
    fileprivate mutating func mutated(_ change: (inout Self) -> Bool) -> Bool { change(&self) }
}
