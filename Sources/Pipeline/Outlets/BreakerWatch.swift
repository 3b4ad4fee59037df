package import ServiceRuntime

/// Keeps a worker's breakers at what all workers know.
package struct BreakerWatch: Service {
    package let name = "breakers"
    private let breakers: Breakers
    private let interval: Duration

    package init(_ breakers: Breakers, interval: Duration = .seconds(5)) {
        self.breakers = breakers
        self.interval = interval
    }

    package func run(until drain: DrainSignal) async throws {
        while !drain.isDraining, !Task.isCancelled {
            await breakers.refresh()
            await drain.pause(for: interval)
        }
    }
}
