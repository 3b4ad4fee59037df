import BellhopRules
import Foundation
import ServiceRuntime
import Synchronization

/// Calls a server on many connections at the same time, each on a separate thread.
struct APILoad: Sendable {
    let port: UInt16
    let connections: Int
    let seconds: Double
    /// Calls per second over all connections, or `nil` for as many as the server answers.
    ///
    /// Each call has a scheduled time. Its delay counts from that time, even if the previous call was not answered by
    /// then.
    var rate: Double?
    /// The status of an answer that counts.
    var success = 200

    /// The result of a load.
    struct Outcome: Sendable {
        var answered = 0
        /// Answers with another status, and broken connections.
        var failures = 0
        /// The sum of the answers' `updated` members.
        var changed = 0
        /// In milliseconds.
        var delays: [Double] = []
        var seconds = 0.0

        var perSecond: Double { seconds > 0 ? Double(answered) / seconds : 0 }

        func p(_ share: Double) -> Double { Quantile.of(delays.sorted(), share) }
    }

    /// Calls until the time is over.
    ///
    /// `request` returns the bytes of the call with a number.
    func run(_ request: @escaping @Sendable (Int) -> [UInt8]) async -> Outcome {
        let next = Counter()
        let start = SystemTime().steady()
        return await withTaskGroup(of: Outcome.self) { group in
            for place in 0..<connections {
                group.addTask {
                    await withCheckedContinuation { waiter in
                        NativeThread.start(named: "load") {
                            waiter.resume(returning: drive(place, from: start, next, request))
                        }
                    }
                }
            }
            var whole = await group.reduce(into: Outcome()) { whole, part in
                whole.answered += part.answered
                whole.failures += part.failures
                whole.changed += part.changed
                whole.delays += part.delays
            }
            whole.seconds = (SystemTime().steady() - start).secondsAsDouble
            return whole
        }
    }

    /// Numbers the calls of all threads.
    private final class Counter: Sendable {
        private let value = Atomic(0)

        func next() -> Int { value.add(1, ordering: .relaxed).oldValue }
    }

    private func drive(
        _ place: Int,
        from start: ContinuousClock.Instant,
        _ numbers: Counter,
        _ request: (Int) -> [UInt8]
    ) -> Outcome {
        var outcome = Outcome()
        guard var connection = LoadConnection(port: port) else {
            outcome.failures += 1
            return outcome
        }
        let time = SystemTime()
        let end = start + .seconds(seconds)
        var turn = start + .seconds((rate.map { Double(place) / $0 }) ?? 0)
        while time.steady() < end {
            if let rate {
                let early = turn - time.steady()
                if early > .zero { usleep(UInt32(clamping: early.microseconds)) }
                guard turn < end else { break }
                defer { turn += .seconds(Double(connections) / rate) }
                guard call(&connection, request(numbers.next()), since: turn, &outcome) else { break }
            } else {
                guard call(&connection, request(numbers.next()), since: time.steady(), &outcome) else { break }
            }
        }
        return outcome
    }

    private func call(
        _ connection: inout LoadConnection,
        _ request: [UInt8],
        since turn: ContinuousClock.Instant,
        _ outcome: inout Outcome
    ) -> Bool {
        guard let answer = connection.exchange(request) else {
            outcome.failures += 1
            return false
        }
        outcome.delays.append((SystemTime().steady() - turn).secondsAsDouble * 1e3)
        guard answer.status == success else {
            outcome.failures += 1
            return true
        }
        outcome.answered += 1
        outcome.changed += Self.updated(answer.body)
        return true
    }

    /// Returns the number of `{"updated":n}`, or 0 for other answers.
    private static func updated(_ body: ArraySlice<UInt8>) -> Int {
        guard body.count < 64, case .success(.object(let object)) = JSONParser().parse(Array(body)) else { return 0 }
        return Int(clamping: object["updated"]?.number?.int64 ?? 0)
    }
}
