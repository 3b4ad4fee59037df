import TestSupport
import Workbench

/// Waits for a condition, with a deadline.
func eventually(_ what: String, _ condition: () -> Bool) async throws {
    let deadline = ContinuousClock.now + LongestWait.duration
    while !condition() {
        guard ContinuousClock.now < deadline else { throw BenchError("never happened: \(what)") }
        try await Task.sleep(for: .milliseconds(5))
    }
}
