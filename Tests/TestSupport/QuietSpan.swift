/// For how long nothing must change before a test takes a system for idle.
///
/// For tests that have to meet an idle system and have no event to wait for. Nothing is asserted about it: a span that is
/// too short on a slow machine makes such a test easier to pass, and never fails it.
package enum QuietSpan {
    package static let duration = Duration.seconds(5)
}

/// Returns when a value has stood still for ``QuietSpan``, and the value.
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
