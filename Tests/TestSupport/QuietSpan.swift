/// The time without a change after which a test considers a system idle.
///
/// It serves tests that require an idle system and have no event for which they could wait. Nothing is asserted about
/// it: a time that is too short on a slow machine makes such a test easier to pass, and never fails it.
package enum QuietSpan {
    package static let duration = Duration.seconds(5)
}

/// Waits until a value has been constant for ``QuietSpan``, and returns the value.
package func settled<Value: Equatable & Sendable>(
    _ what: String,
    atMost limit: LongestWait = .test,
    _ value: () async throws -> Value
) async throws -> Value {
    var latest = (value: try await value(), since: ContinuousClock.now)
    try await eventually("\(what) stands still, last observed: \(latest.value)", atMost: limit) {
        let now = try await value()
        if now != latest.value { latest = (now, .now) }
        return latest.since.duration(to: .now) > QuietSpan.duration
    }
    return latest.value
}
