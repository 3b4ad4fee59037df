/// What a test waited for in vain.
package struct NeverHappened: Error, CustomStringConvertible {
    package let description: String
}

/// Waits until `condition` holds; throws when that does not come about in time, or when the test is cancelled.
///
/// It looks again after a few milliseconds, then ever more rarely: what is waited for is counted by a database that has
/// other work to do, and is told a tenth of the wait too late at most.
package func eventually(
    _ what: @autoclosure () -> String = "what the test waits for",
    within limit: Duration = LongestWait.duration,
    file: StaticString = #fileID,
    line: UInt = #line,
    _ condition: () async throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + limit
    var pause = Duration.milliseconds(5)
    while try await !condition() {
        try Task.checkCancellation()
        guard ContinuousClock.now < deadline else {
            throw NeverHappened(description: "never happened: \(what()) (\(file):\(line))")
        }
        try await Task.sleep(for: pause)
        pause = min(pause * 1.1, .milliseconds(100))
    }
}
