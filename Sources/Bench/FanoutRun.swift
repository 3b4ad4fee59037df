import BellhopRules
import Foundation
import Operations
import Roles
import ServiceRuntime
import Store

/// Workload W2: one event to a topic that every user of W1 follows.
///
/// In the same run the resulting rows are also written with a plain `INSERT … SELECT`, for comparison.
struct FanoutRun: Sendable {
    /// Its users are the followers.
    ///
    /// It has no events apart from the one.
    let workload: Workload
    let workers: Int
    /// Reports progress.
    let say: @Sendable (String) -> Void

    func measure(on testbed: Testbed) async throws -> BenchReport {
        let stub = try await PushStub.start(testbed, at: nil)
        let fanout = try await prepare(testbed)
        let load = ProcessTable.load()
        let mark = try await testbed.ledger.mark()
        let children = try fanout.startWorkers(workers)
        say("publishing one event to \(workload.users) followers")
        try await fanout.publish()
        let standing = try await fanout.awaitEnd(since: mark, children)
        let peaks = children.compactMap { ProcessTable.memory(of: Int($0.identifier))?.peak }
        for child in children { await child.end() }
        let span = try await testbed.ledger.span(since: standing.startedAt)
        let end = max(standing.finishedAt ?? 0, span?.lastSettled ?? 0)
        let seconds = Double(end - standing.startedAt) / 1e6
        let verification = try await fanout.verification(since: mark, stub)
        say("writing the same rows with INSERT … SELECT")
        let plain = try await fanout.book.insertPlainly().secondsAsDouble
        return BenchReport(
            "W2",
            title,
            try await MachineDescription(testbed, load: load),
            figures(seconds, plain, peaks.max() ?? 0),
            verification
        )
    }

    /// Fills the tables with the followers.
    func prepare(_ testbed: Testbed) async throws -> MeasuredFanout {
        say("seeding \(workload.users) users")
        try await testbed.seed(workload)
        let fanout = try MeasuredFanout(testbed, workload)
        try await fanout.book.follow(MeasuredFanout.topic, app: fanout.app)
        return fanout
    }

    private var title: String {
        let crew = workers == 1 ? "1 worker" : "\(workers) workers"
        let pushes = workload.isMuted ? "off" : "on"
        return "W2: one event to \(workload.users) followers, pushes \(pushes), \(crew), seed \(workload.seed)"
    }

    private func figures(_ seconds: Double, _ plain: Double, _ peak: Int) -> [BenchReport.Figure] {
        let rate = seconds > 0 ? Double(workload.users) / seconds : 0
        let ratio = plain > 0 ? seconds / plain : 0
        return [
            .told("followers", .int(workload.users)), .told("workers", .int(workers)),
            .told("pushes", .string(workload.isMuted ? "off" : "on")), .told("seed", .string(String(workload.seed))),
            .both("seconds", seconds.text(digits: 2), "seconds", .decimal(seconds, digits: 3)),
            .both("followers per second", rate.text(digits: 0), "followersPerSecond", .decimal(rate, digits: 1)),
            .both("INSERT … SELECT, seconds", plain.text(digits: 2), "insertSelectSeconds", .decimal(plain, digits: 3)),
            .both("ratio", ratio.text(digits: 2), "ratio", .decimal(ratio, digits: 3)),
            .both("peak memory, worker", peak.megabytes, "peakWorkerBytes", .int(peak)),
        ]
    }
}

/// The one fan-out of a measurement.
///
/// It is published, awaited and compared with its audience.
struct MeasuredFanout: Sendable {
    let testbed: Testbed
    let workload: Workload
    let book: BenchmarkFanoutBook
    let app: AppID

    static let topic = "bench:followers"

    init(_ testbed: Testbed, _ workload: Workload) throws {
        self.testbed = testbed
        self.workload = workload
        book = testbed.fanouts
        guard let app = AppID(validating: Workload.appName) else {
            throw CommandFailure(
                .bug,
                attempted: "naming the benchmark's app",
                cameBack: "it cannot be named so",
                whatToDo: "report it"
            )
        }
        self.app = app
    }

    /// Starts workers of all lanes, as a pool does.
    func startWorkers(_ count: Int) throws -> [BenchChild] {
        try (1...count).map { try testbed.start([WorkerCommand.name], log: "worker\($0)") }
    }

    func publish() async throws {
        try await testbed.publish(
            workload.id(ofEvent: 0),
            type: workload.type(ofEvent: 0),
            body: workload.body(ofEvent: 0, to: "{\"topic\":\"\(Self.topic)\"}")
        )
    }

    /// Waits until the last page is finished and no delivery is open.
    ///
    /// Calls `ended` in any case, also after an error.
    func awaitEnd(
        since mark: BenchmarkBook.Mark,
        _ children: [BenchChild],
        then ended: () -> Void = {}
    ) async throws -> BenchmarkFanoutBook.Standing {
        defer { ended() }
        var last: BenchmarkFanoutBook.Standing?
        try await testbed.wait(children, for: "\(workload.users) followers") {
            last = try await standing()
            guard last?.finishedAt != nil else { return (last?.users ?? 0, false) }
            // From here on progress is measured by the pushes that remain.
            let owed = try await testbed.ledger.owed(since: mark)
            return (workload.users - owed, owed == 0)
        }
        guard let last else {
            throw CommandFailure(
                .tryAgain,
                attempted: "looking for the fan-out",
                cameBack: "it is gone",
                whatToDo: "run it again"
            )
        }
        return last
    }

    func standing() async throws -> BenchmarkFanoutBook.Standing? {
        try await book.standing(of: workload.id(ofEvent: 0), app: app)
    }

    /// Compares rows and pushes with the audience.
    ///
    /// `others` is the number of further events to single users, each with one push.
    func verification(
        since mark: BenchmarkBook.Mark,
        _ stub: PushStub,
        others: Int = 0,
        faults: [String] = []
    ) async throws -> Verification {
        var expected = workload.expectation(for: 0..<workload.users)
        if others > 0 { expected.endings[.init(state: "delivered"), default: 0] += others }
        let (lost, strangers) = try await book.differences(workload.id(ofEvent: 0), to: Self.topic, app: app)
        var faults = faults
        if lost > 0 { faults.append("\(lost) followers have no notification") }
        if strangers > 0 { faults.append("\(strangers) notifications are for others than followers") }
        return Verification(
            expectedEvents: workload.users + others,
            notifications: try await testbed.ledger.notifications(since: mark),
            distinctNotifications: try await testbed.ledger.distinctEvents(since: mark),
            expectedEndings: expected.endings,
            endings: try await testbed.ledger.endings(since: mark),
            hasDeadLetters: try await testbed.hasDeadLetters(),
            expectedPushes: expected.pushes + others,
            pushes: try await stub.answered(),
            others: faults
        )
    }
}
