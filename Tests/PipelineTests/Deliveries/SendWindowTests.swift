import IntegrationSupport
import TestSupport
import Testing

@testable import Pipeline

@Suite("Windows of providers", .limitedConcurrency, .timeLimit(.ofTest))
struct SendWindowTests {
    private static var far: ContinuousClock.Instant { .now + .seconds(3600) }
    private static let patient = Duration.seconds(3600)

    /// Returns pushes that belong to a separate message each.
    private static func pushes(_ count: Int) -> [Int] { Array(0..<count) }

    @Test("a lane's limit counts the broker's messages: one message with many pushes takes one place")
    func messages() async {
        let window = SendWindow(capacity: 1_000, limits: [.urgent: 2])
        let wanted = Array(repeating: 0, count: 300) + Array(repeating: 1, count: 300) + [2]
        let grant = await window.acquire(wanted, for: .urgent, until: Self.far, patience: .zero)
        #expect(grant == SendWindow.Grant(pushes: 600, messages: 2))
        let next = await window.acquire([3], for: .urgent, until: Self.far, patience: .zero)
        #expect(next == .none)
        window.release(grant, of: .urgent)
        #expect(window.inFlight == 0)
    }

    @Test("a tenth of the places is reserved for urgent messages, and returned places are available again")
    func reserve() async {
        let window = SendWindow(capacity: 20)
        let first = await window.acquire(Self.pushes(30), for: .normal, until: Self.far, patience: .zero)
        let urgent = await window.acquire(Self.pushes(30), for: .urgent, until: Self.far, patience: .zero)
        #expect([first, urgent].map(\.pushes) == [18, 2])
        window.release(first, of: .normal)
        let again = await window.acquire(Self.pushes(5), for: .bulk, until: Self.far, patience: .zero)
        #expect(again.pushes == 5)
        #expect(window.inFlight == 7)
    }

    @Test("a waiter at a full window gets the next places, urgent waiters first")
    func waiting() async throws {
        let window = SendWindow(capacity: 10)
        let all = await window.acquire(Self.pushes(10), for: .urgent, until: Self.far, patience: Self.patient)
        async let normal = window.acquire(Self.pushes(3), for: .normal, until: Self.far, patience: Self.patient)
        try await eventually("one waits") { window.waiting == 1 }
        async let urgent = window.acquire(Self.pushes(10), for: .urgent, until: Self.far, patience: Self.patient)
        try await eventually("two wait") { window.waiting == 2 }
        window.release(all, of: .urgent)
        let second = await urgent
        #expect(second.pushes == 10)
        window.release(.init(pushes: 4, messages: 4), of: .urgent)
        #expect(await normal.pushes == 3)
    }

    @Test("a lane takes no more than its limit, and a lane that waits for its own places delays no other lane")
    func lanes() async throws {
        let window = SendWindow(capacity: 22, limits: [.urgent: 4, .normal: 10])
        let normal = await window.acquire(Self.pushes(30), for: .normal, until: Self.far, patience: Self.patient)
        let urgent = await window.acquire(Self.pushes(30), for: .urgent, until: Self.far, patience: Self.patient)
        #expect([normal, urgent].map(\.pushes) == [10, 4])
        async let more = window.acquire(Self.pushes(2), for: .normal, until: Self.far, patience: Self.patient)
        try await eventually("one waits") { window.waiting == 1 }
        let bulk = await window.acquire(Self.pushes(30), for: .bulk, until: Self.far, patience: .zero)
        #expect(bulk.pushes == 6)
        window.release(urgent, of: .urgent)
        #expect(window.waiting == 1)
        window.release(.init(pushes: 2, messages: 2), of: .normal)
        #expect(await more.pushes == 2)
    }

    @Test("a request for more than the free places waits for half of its lane's, and the lane cannot overtake it")
    func decentShare() async throws {
        let window = SendWindow(capacity: 1_000, limits: [.normal: 20])
        let first = await window.acquire(Self.pushes(14), for: .normal, until: Self.far, patience: Self.patient)
        async let large = window.acquire(Self.pushes(12), for: .normal, until: Self.far, patience: Self.patient)
        try await eventually("one waits for more than six") { window.waiting == 1 }
        async let small = window.acquire(Self.pushes(1), for: .normal, until: Self.far, patience: Self.patient)
        try await eventually("the small one stands behind it") { window.waiting == 2 }
        window.release(.init(pushes: 4, messages: 4), of: .normal)
        #expect(await large.pushes == 10)
        #expect(window.waiting == 1)
        window.release(.init(pushes: 10, messages: 10), of: .normal)
        #expect(await small.pushes == 1)
        #expect(first.pushes == 14)
    }

    @Test("a request gets the free places, however few, when its time is up")
    func crumbs() async {
        let window = SendWindow(capacity: 20)
        _ = await window.acquire(Self.pushes(15), for: .urgent, until: Self.far, patience: Self.patient)
        let soon = ContinuousClock.now + .milliseconds(50)
        let grant = await window.acquire(Self.pushes(12), for: .urgent, until: soon, patience: Self.patient)
        #expect(grant.pushes == 5)
        let still = await window.acquire([0, 1], for: .urgent, until: Self.far, patience: .zero)
        #expect(still == .none)
    }

    @Test("a window without a release during the patience rejects a request immediately, and a deadline ends a wait")
    func standingStill() async {
        let window = SendWindow(capacity: 10)
        _ = await window.acquire(Self.pushes(10), for: .urgent, until: Self.far, patience: Self.patient)
        let still = await window.acquire(Self.pushes(1), for: .normal, until: Self.far, patience: .zero)
        let late = await window.acquire(Self.pushes(1), for: .normal, until: .now, patience: Self.patient)
        let soon = await window.acquire(
            Self.pushes(1),
            for: .normal,
            until: .now + .milliseconds(50),
            patience: Self.patient
        )
        #expect([still, late, soon] == [.none, .none, .none])
        #expect(window.waiting == 0)
    }

    @Test("pushes pulled from a backlog hold none of a lane's messages, and wait in a separate queue")
    func pulled() async throws {
        let window = SendWindow(capacity: 20, limits: [.normal: 2])
        let live = await window.acquire(Self.pushes(5), for: .normal, until: Self.far, patience: .zero)
        let pulled = await window.acquire(pulling: 30, for: .normal, until: .now)
        #expect(live == SendWindow.Grant(pushes: 2, messages: 2))
        #expect(pulled == SendWindow.Grant(pushes: 16, messages: 0))
        async let more = window.acquire(Self.pushes(1), for: .normal, until: Self.far, patience: Self.patient)
        try await eventually("one waits for a message to end") { window.waiting == 1 }
        window.release(pulled, of: .normal)
        let again = await window.acquire(pulling: 4, for: .normal, until: Self.far)
        #expect(again.pushes == 4)
        window.release(live, of: .normal)
        #expect(await more.pushes == 1)
        window.release(again, of: .normal)
        #expect(window.inFlight == 1)
    }

    @Test("all windows together hold at most a lane's share of messages, and return it")
    func shares() async {
        let shares = LaneQuota([.normal: 6])
        let windows = (0..<3).map { _ in SendWindow(capacity: 100, limits: [.normal: 4], shares: shares) }
        var grants: [SendWindow.Grant] = []
        for window in windows {
            grants.append(await window.acquire(Self.pushes(9), for: .normal, until: .now, patience: .zero))
        }
        #expect(grants.map(\.messages) == [4, 2, 0])
        let urgent = await windows[2].acquire(Self.pushes(9), for: .urgent, until: .now, patience: .zero)
        #expect(urgent.pushes == 9)
        windows[0].release(grants[0], of: .normal)
        let next = await windows[2].acquire(Self.pushes(9), for: .normal, until: .now, patience: .zero)
        #expect(next.messages == 4)
    }

    @Test("a waiter holds shares of all windows, a request without a share does not wait, and all shares are returned")
    func waitingShares() async throws {
        let shares = LaneQuota([.normal: 8])
        let windows = (0..<2).map { _ in SendWindow(capacity: 100, limits: [.normal: 4], shares: shares) }
        let first = await windows[0].acquire(Self.pushes(4), for: .normal, until: Self.far, patience: Self.patient)
        async let second = windows[0].acquire(Self.pushes(3), for: .normal, until: Self.far, patience: Self.patient)
        try await eventually("one waits") { windows[0].waiting == 1 }
        let soon = ContinuousClock.now + .milliseconds(50)
        let late = await windows[0].acquire(Self.pushes(1), for: .normal, until: soon, patience: Self.patient)
        #expect(late == .none)
        // Of eight, four are in flight, and three wait.
        let other = await windows[1].acquire(Self.pushes(2), for: .normal, until: Self.far, patience: Self.patient)
        #expect(other.messages == 1)
        let last = await windows[0].acquire([9], for: .normal, until: Self.far, patience: Self.patient)
        #expect(last == .none)
        windows[0].release(first, of: .normal)
        #expect(await second.messages == 3)
        windows[0].release(.init(pushes: 3, messages: 3), of: .normal)
        windows[1].release(other, of: .normal)
        #expect(shares.take(upTo: 9, of: .normal) == 8)
    }

    @Test("a cancelled caller gets nothing and leaves the queue")
    func cancellation() async throws {
        let window = SendWindow(capacity: 1)
        _ = await window.acquire(Self.pushes(1), for: .urgent, until: Self.far, patience: Self.patient)
        let caller = Task {
            await window.acquire(Self.pushes(1), for: .urgent, until: Self.far, patience: Self.patient)
        }
        try await eventually("it waits") { window.waiting == 1 }
        caller.cancel()
        #expect(await caller.value == .none)
        #expect(window.waiting == 0)
    }
}
