package import ServiceRuntime

/// Keeps a worker's breakers, and the holds of operators, at what all workers know.
package struct BreakerWatch: Service {
    package let name = "breakers"
    private let breakers: Breakers
    private let interval: Duration

    package init(_ breakers: Breakers, interval: Duration = .seconds(5)) {
        self.breakers = breakers
        self.interval = interval
    }

    /// What an operator says shall be true within a second or two.
    private static let holdInterval = Duration.seconds(1)

    package func run(until drain: DrainSignal) async throws {
        await withDiscardingTaskGroup { group in
            group.addTask { await Self.again(every: min(interval, Self.holdInterval), drain, breakers.brakes.refresh) }
            group.addTask { await Self.again(every: interval, drain, breakers.refresh) }
        }
    }

    private static func again(
        every interval: Duration,
        _ drain: DrainSignal,
        _ refresh: @Sendable () async -> Void
    ) async {
        while !drain.isDraining, !Task.isCancelled {
            await refresh()
            await drain.pause(for: interval)
        }
    }
}
