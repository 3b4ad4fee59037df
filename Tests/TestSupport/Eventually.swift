import Foundation

/// The error of a wait whose condition never held.
package struct NeverHappened: Error, CustomStringConvertible {
    package let description: String
}

/// The growing intervals at which a wait checks its condition: from 5 ms to 100 ms.
///
/// Conditions are often counted by a database that has other work to do. The test notices a change at most a tenth of
/// the wait too late.
private struct PollIntervals {
    private var pause = Duration.milliseconds(5)

    mutating func next() -> Duration {
        defer { pause = min(pause * 1.1, .milliseconds(100)) }
        return pause
    }
}

/// Waits until `condition` holds.
///
/// Throws if the condition does not hold in time, or if the test is cancelled. `what` is evaluated when the wait fails,
/// so that it can name the last observed value.
package func eventually(
    _ what: @autoclosure () -> String = "the condition",
    atMost limit: LongestWait = .test,
    file: StaticString = #fileID,
    line: UInt = #line,
    _ condition: () async throws -> Bool
) async throws {
    let start = ContinuousClock.now
    var pauses = PollIntervals()
    while try await !condition() {
        try Task.checkCancellation()
        let waited = ContinuousClock.now - start
        guard waited < limit.duration else {
            let failure = "never happened: \(what()) (\(file):\(line))"
            await FailureEvidence.collect(failure, after: waited)
            throw NeverHappened(description: failure)
        }
        try await Task.sleep(for: pauses.next())
    }
}

/// Waits until a value is as expected; if it never is, the error names the last value.
package func eventually<Value: Sendable>(
    _ what: @autoclosure () -> String,
    atMost limit: LongestWait = .test,
    file: StaticString = #fileID,
    line: UInt = #line,
    value: () async throws -> Value,
    is isExpected: (Value) -> Bool
) async throws {
    var last: Value?
    func description() -> String { "\(what()); last observed: \(last.map { "\($0)" } ?? "nothing")" }
    try await eventually(description(), atMost: limit, file: file, line: line) {
        let value = try await value()
        last = value
        return isExpected(value)
    }
}

/// Waits until `condition` holds, on a thread that may block.
///
/// Returns `false` if the condition does not hold in time.
package func blockUntil(atMost limit: LongestWait = .test, _ condition: () -> Bool) -> Bool {
    let start = ContinuousClock.now
    var pauses = PollIntervals()
    while !condition() {
        guard ContinuousClock.now - start < limit.duration else { return false }
        let pause = pauses.next().components
        usleep(UInt32(clamping: pause.seconds * 1_000_000 + pause.attoseconds / 1_000_000_000_000))
    }
    return true
}
