import Testing

/// What a test waited for in vain.
struct NeverHappened: Error, CustomStringConvertible {
    let description: String
}

/// Waits until `condition` holds; throws after 20 seconds, or when the test is cancelled.
func eventually(_ what: String, _ condition: () async throws -> Bool) async throws {
    let deadline = ContinuousClock.now + .seconds(20)
    while try await !condition() {
        try Task.checkCancellation()
        guard ContinuousClock.now < deadline else { throw NeverHappened(description: "never happened: \(what)") }
        await Task.yield()
    }
}
