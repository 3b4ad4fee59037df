import AMQP
import BellhopRules
import Foundation
import ServiceRuntime
import Store

/// Waits for the workers and reads their results.
extension Testbed {
    /// Without progress for this time, something is broken; a profiler's worker takes minutes to start.
    private var patience: Duration { workerProgram == nil ? .seconds(60) : .seconds(1_200) }

    /// Waits until the number of events is recorded and no delivery is open.
    func awaitEnd(
        of events: Int,
        since mark: BenchmarkBook.Mark = .beginning,
        _ children: [BenchChild]
    ) async throws {
        try await wait(children, for: "\(events) events") {
            let found = try await ledger.notifications(since: mark)
            let isDone = found >= events ? try await ledger.isSettled(since: mark) : false
            return (found, isDone)
        }
    }

    func awaitTombstones(_ count: Int, _ children: [BenchChild]) async throws {
        try await wait(children, for: "\(count) tombstones") {
            let found = try await ledger.tombstones()
            return (found, found >= count)
        }
    }

    /// Polls four times per second, on a connection whose costs are not counted.
    func wait(
        _ children: [BenchChild],
        for goal: String,
        _ look: () async throws -> (found: Int, isDone: Bool)
    ) async throws {
        var last = -1
        var moved = ContinuousClock.now
        while true {
            try await Task.sleep(for: .milliseconds(250))
            for child in children { try child.expectRunning() }
            let (found, isDone) = try await look()
            if isDone { return }
            if found != last { moved = .now }
            last = found
            guard ContinuousClock.now - moved < patience else {
                throw CommandFailure(
                    .answerIsNo,
                    attempted: "draining the lane",
                    cameBack: "nothing moved for \(patience.components.seconds) s at \(found) of \(goal)",
                    whatToDo: "run it with --keep and read the workers' logs in \(folder)"
                )
            }
        }
    }

    /// Publishes the erasure of unknown users, as an app does.
    func erase(_ count: Int) async throws {
        for start in stride(from: 0, to: count, by: 5_000) {
            try Task.checkCancellation()
            let messages = (start..<min(start + 5_000, count)).map { user in
                OutgoingMessage(
                    exchange: names.events,
                    routingKey: "\(Workload.appName).recipient.deleted",
                    properties: MessageProperties(contentType: "application/json"),
                    body: Array(#"{"userId":"gone_\#(user)"}"#.utf8)
                )
            }
            try await insist(messages)
        }
    }

    /// Fills the tables with older notifications, and reports the progress about every ten seconds.
    func store(_ notifications: Int, saying say: (String) -> Void) async throws {
        let clock = ContinuousClock()
        let start = clock.now
        var last = start
        for first in stride(from: 0, to: notifications, by: Self.portion) {
            try Task.checkCancellation()
            let end = min(first + Self.portion, notifications)
            try await ledger.store(first..<end)
            guard clock.now - last > .seconds(10), end < notifications else { continue }
            last = clock.now
            say("stored \(end) of \(notifications) in \((last - start).components.seconds) s")
        }
        if notifications > Self.portion { say("stored all, collecting statistics") }
        try await ledger.analyze()
    }

    private static let portion = 100_000

    /// Compares the rows and pushes of these events, by default of all, with the workload.
    ///
    /// `pushes` is the number of pushes before.
    func verification(
        of workload: Workload,
        in events: Range<Int>? = nil,
        since mark: BenchmarkBook.Mark = .beginning,
        _ stub: PushStub,
        after pushes: Int = 0
    ) async throws -> Verification {
        let events = events ?? 0..<workload.events
        let expected = workload.expectation(for: events.lazy.map(workload.user(ofEvent:)))
        return Verification(
            expectedEvents: events.count,
            notifications: try await ledger.notifications(since: mark),
            distinctNotifications: try await ledger.distinctEvents(since: mark),
            expectedEndings: expected.endings,
            endings: try await ledger.endings(since: mark),
            hasDeadLetters: try await hasDeadLetters(),
            expectedPushes: expected.pushes,
            pushes: try await stub.answered().map { $0 - pushes }
        )
    }
}
