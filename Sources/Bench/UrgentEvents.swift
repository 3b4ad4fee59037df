import BellhopRules
import ServiceRuntime
import Synchronization

/// Publishes urgent events to users with one device each.
///
/// The stub can tell their pushes apart.
final class UrgentEvents: Sendable {
    /// The text before an event's number in its push.
    static let word = "bench-urgent-"
    private static let type = "security"

    private let workload: Workload
    private let testbed: Testbed
    private let state = Mutex(State())
    private let time = SystemTime()

    private struct State {
        var count = 0
        /// The publication time of each event that was not taken, by the wall clock, since the stub is another process
        /// on this machine.
        var published: [Int: Int64] = [:]
    }

    init(_ workload: Workload, _ testbed: Testbed) {
        self.workload = workload
        self.testbed = testbed
    }

    /// The number of events so far.
    ///
    /// They are numbered from zero.
    var count: Int { state.withLock(\.count) }

    /// The number of events that were not taken.
    var outstanding: Int { state.withLock(\.published.count) }

    /// Starts the next event and returns its number.
    ///
    /// Its time counts from here and includes the broker's confirm.
    func next() -> Int {
        let now = time.now().microseconds
        return state.withLock { state in
            state.published[state.count] = now
            state.count += 1
            return state.count - 1
        }
    }

    func publish(_ event: Int) async throws {
        let user = Workload.name(of: receiver(of: event))
        let body =
            "{\"id\":\"evt_urgent_\(event)\",\"app\":\"\(Workload.appName)\",\"eventType\":\"\(Self.type)\","
            + "\"to\":{\"user\":\"\(user)\"},\"data\":{\"device\":\"iPhone\",\"place\":\"Oslo, Norge\"},"
            + "\"targetId\":\"\(Self.word)\(event)\"}"
        try await testbed.publish("evt_urgent_\(event)", type: Self.type, body: body)
    }

    /// Publishes `rate` events per second while `isWanted` accepts the next number.
    ///
    /// An event does not wait for the confirm of the event before it.
    func publish(_ rate: Int, while isWanted: (Int) -> Bool) async throws {
        let clock = ContinuousClock()
        var turn = clock.now
        try await withThrowingDiscardingTaskGroup { group in
            while isWanted(count) {
                try Task.checkCancellation()
                let event = next()
                group.addTask { try await self.publish(event) }
                turn = turn.advanced(by: .seconds(1) / rate)
                try await clock.sleep(until: turn)
            }
        }
    }

    /// Waits until every push has arrived, at most half a minute.
    func awaitArrivals(at stub: PushStub, _ children: [BenchChild]) async throws {
        let deadline = ContinuousClock.now + .seconds(30)
        while try await stub.noted().count < count, ContinuousClock.now < deadline {
            for child in children { try child.expectRunning() }
            try await Task.sleep(for: .milliseconds(200))
        }
    }

    /// Returns the event's user: the next one, from a start that depends on the event, whose push leads to exactly one
    /// request.
    private func receiver(of event: Int) -> Int {
        let start = event &* 7_919
        for step in 0..<workload.users {
            let user = (start + step) % workload.users
            let traits = workload.traits(of: user)
            if !traits.hasPushOff, traits.devices == 1 { return user }
        }
        return 0
    }

    /// Returns the milliseconds from publication to first arrival, by number, or `nil` for a push that has not arrived.
    func delays(_ arrivals: [(mark: String, at: Int64)]) -> [Double?] {
        let state = state.withLock { $0 }
        var delays: [Double?] = Array(repeating: nil, count: state.count)
        for arrival in arrivals {
            guard let event = Int(arrival.mark), let published = state.published[event], delays[event] == nil else {
                continue
            }
            delays[event] = Double(arrival.at - published) / 1e3
        }
        return delays
    }

    /// Returns the delays of these arrivals and the number of arrivals that were not the first of their event.
    ///
    /// The events are forgotten, so that a long run needs no more memory than a short one.
    func take(_ arrivals: [(mark: String, at: Int64)]) -> (delays: [Double], repeats: Int) {
        state.withLock { state in
            let delays = arrivals.compactMap { arrival in
                Int(arrival.mark).flatMap { state.published.removeValue(forKey: $0) }.map {
                    Double(arrival.at - $0) / 1e3
                }
            }
            return (delays, arrivals.count - delays.count)
        }
    }

    /// Returns the faults among the arrivals, in words.
    func faults(_ arrivals: [(mark: String, at: Int64)]) -> [String] {
        let counts = Dictionary(arrivals.map { ($0.mark, 1) }, uniquingKeysWith: +)
        let (lost, doubled) = (count - counts.count, counts.values.count { $0 > 1 })
        var faults: [String] = []
        if lost != 0 { faults.append("\(lost) urgent pushes never arrived") }
        if doubled > 0 { faults.append("\(doubled) urgent pushes arrived more than once") }
        return faults
    }
}

/// The delays of urgent events, in milliseconds.
struct UrgentDelays: Sendable {
    let count: Int
    let p50: Double
    let p90: Double
    let p99: Double

    init(_ delays: [Double?], _ range: Range<Int>) {
        let sorted = delays[range].compactMap { $0 }.sorted()
        count = sorted.count
        p50 = Quantile.of(sorted, 0.5)
        p90 = Quantile.of(sorted, 0.9)
        p99 = Quantile.of(sorted, 0.99)
    }

    var json: JSONValue {
        .members([
            ("events", .int(count)), ("p50", .decimal(p50, digits: 3)), ("p90", .decimal(p90, digits: 3)),
            ("p99", .decimal(p99, digits: 3)),
        ])
    }

    var words: String {
        let figures = [("median", p50), ("p90", p90), ("p99", p99)].map { "\($0) \($1.text(digits: 2)) ms" }
        return figures.joined(separator: ", ") + ", \(count) events"
    }
}
