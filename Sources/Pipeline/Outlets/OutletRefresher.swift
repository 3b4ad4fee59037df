package import ServiceRuntime

/// Keeps a worker's breakers and holds up to date with the shared state in the database.
package struct OutletRefresher: Service {
    package let name = "breakers"
    private let outlets: Outlets
    private let interval: Duration

    package init(_ outlets: Outlets, interval: Duration = .seconds(5)) {
        self.outlets = outlets
        self.interval = interval
    }

    /// An operator's hold takes effect within one or two seconds.
    private static let holdInterval = Duration.seconds(1)

    /// The interval while lanes drain, short so that the last poll does not delay the end.
    private static let lastInterval = Duration.milliseconds(250)

    package func run(until drain: DrainSignal) async throws {
        await withDiscardingTaskGroup { group in
            group.addTask { await refreshHolds(drain) }
            group.addTask { await Self.repeatedly(every: interval, drain, outlets.refresh) }
        }
    }

    /// Continues while shipments are sent, because a lane may drain for as long as its slowest provider takes.
    private func refreshHolds(_ drain: DrainSignal) async {
        await Self.repeatedly(every: min(interval, Self.holdInterval), drain, outlets.holds.refresh)
        while !outlets.holds.isIdle, !Task.isCancelled {
            await outlets.holds.refresh()
            try? await Task.sleep(for: Self.lastInterval)
        }
    }

    private static func repeatedly(
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
