/// What a test waited for in vain.
package struct NeverHappened: Error, CustomStringConvertible {
    package let description: String
}

/// Waits until `condition` holds, and looks again every few milliseconds; throws when that does not come about in time, or
/// when the test is cancelled.
package func eventually(
    _ what: @autoclosure () -> String = "what the test waits for",
    within limit: Duration = LongestWait.duration,
    file: StaticString = #fileID,
    line: UInt = #line,
    _ condition: () async throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + limit
    while try await !condition() {
        try Task.checkCancellation()
        guard ContinuousClock.now < deadline else {
            throw NeverHappened(description: "never happened: \(what()) (\(file):\(line))")
        }
        try await Task.sleep(for: .milliseconds(5))
    }
}
