package import ServiceRuntime

/// Keeps a worker's breakers and holds up to date with the shared state in the database.
package struct BreakerRefresher: Service {
    package let name = "breakers"
    private let breakers: CircuitBreakers
    private let interval: Duration

    package init(_ breakers: CircuitBreakers, interval: Duration = .seconds(5)) {
        self.breakers = breakers
        self.interval = interval
    }

    /// An operator's hold takes effect within one or two seconds.
    private static let holdInterval = Duration.seconds(1)

    /// The interval while lanes drain, short so that the last poll does not delay the end.
    private static let lastInterval = Duration.milliseconds(250)

    package func run(until drain: DrainSignal) async throws {
        await withDiscardingTaskGroup { group in
            group.addTask { await watchBrakes(drain) }
            group.addTask { await Self.again(every: interval, drain, breakers.refresh) }
        }
    }

    /// Continues while shipments are sent, because a lane may drain for as long as its slowest provider takes.
    private func watchBrakes(_ drain: DrainSignal) async {
        await Self.again(every: min(interval, Self.holdInterval), drain, breakers.brakes.refresh)
        while !breakers.brakes.isIdle, !Task.isCancelled {
            await breakers.brakes.refresh()
            try? await Task.sleep(for: Self.lastInterval)
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
