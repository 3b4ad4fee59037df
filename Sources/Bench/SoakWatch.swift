import Foundation
import ServiceRuntime
import Store

/// Takes the samples of a soak, and counts and deletes the rows that are old enough.
///
/// It keeps samples and sums only, so that its memory hardly depends on the time.
struct SoakWatch: Sendable {
    let testbed: Testbed
    let stub: PushStub
    let worker: BenchChild
    let load: SteadyLoad
    let urgent: UrgentEvents
    /// The pushes of the events before the load.
    let pushesBefore: Int
    /// The age at which rows are counted and deleted.
    let kept: Duration

    private(set) var samples: [SoakSample] = []
    private(set) var tally = BenchmarkSoakBook.Tally()
    /// The notifications that were deleted.
    private(set) var deleted = 0
    /// Whether the load was ended before its time.
    var isEndedEarly = false
    /// The urgent pushes that arrived again.
    private(set) var repeats = 0
    private var lastEvents = 0
    private var lastSeconds = 0.0

    init(
        _ testbed: Testbed,
        _ stub: PushStub,
        _ worker: BenchChild,
        _ load: SteadyLoad,
        _ urgent: UrgentEvents,
        pushesBefore: Int,
        kept: Duration
    ) {
        self.testbed = testbed
        self.stub = stub
        self.worker = worker
        self.load = load
        self.urgent = urgent
        self.pushesBefore = pushesBefore
        self.kept = kept
        lastEvents = load.events + urgent.count
    }

    /// Returns the number of pushes that have not arrived.
    func waiting() async throws -> Int {
        let published = pushesBefore + load.expected.pushes + urgent.count
        guard let answered = try await stub.answered() else { return 0 }
        return max(0, published - answered)
    }

    /// Takes a sample at this time since the load began.
    mutating func sample(at seconds: Double) async throws -> SoakSample {
        let events = load.events + urgent.count
        let delays = try await arrivals().sorted()
        try await testbed.soak.count(olderThan: kept, into: &tally)
        deleted += try await testbed.soak.delete(countedIn: tally)
        let process = Int(worker.identifier)
        guard let memory = ProcessTable.memory(of: process), let descriptors = ProcessTable.descriptors(of: process),
            let own = ProcessTable.memory(of: Int(getpid()))
        else {
            try worker.expectRunning()
            throw CommandFailure.kernelTellsNothing(of: "the worker")
        }
        let sample = SoakSample(
            seconds: seconds,
            eventsPerSecond: Double(events - lastEvents) / max(0.001, seconds - lastSeconds),
            waiting: try await waiting(),
            memory: memory.now,
            descriptors: descriptors,
            disk: try await testbed.soak.disk(),
            p99: delays.isEmpty ? nil : Quantile.of(delays, 0.99),
            ownMemory: own.now
        )
        (lastEvents, lastSeconds) = (events, seconds)
        samples.append(sample)
        return sample
    }

    /// Waits until all events are settled and all urgent pushes have arrived, and counts the rest of the rows.
    mutating func finish() async throws {
        let events = load.events + urgent.count
        try await testbed.wait([worker], for: "\(events) events") {
            let found = deleted + (try await testbed.ledger.notifications())
            return (found, found >= events ? try await testbed.ledger.isSettled() : false)
        }
        let deadline = ContinuousClock.now + .seconds(30)
        _ = try await arrivals()
        while urgent.outstanding > 0, ContinuousClock.now < deadline {
            try worker.expectRunning()
            try await Task.sleep(for: .milliseconds(200))
            _ = try await arrivals()
        }
        try await testbed.soak.count(olderThan: .zero, into: &tally)
    }

    private mutating func arrivals() async throws -> [Double] {
        let (delays, repeats) = urgent.take(try await stub.takeNoted())
        self.repeats += repeats
        return delays
    }
}
