import Testing
import TestSupport

/// What a test waited for in vain.
struct NeverHappened: Error, CustomStringConvertible {
    let description: String
}

/// Waits until `condition` holds; throws when that never comes, or when the test is cancelled.
func eventually(_ what: String, _ condition: () async throws -> Bool) async throws {
    let deadline = ContinuousClock.now + LongestWait.duration
    while try await !condition() {
        try Task.checkCancellation()
        guard ContinuousClock.now < deadline else { throw NeverHappened(description: "never happened: \(what)") }
        try await Task.sleep(for: .milliseconds(2))
    }
}
