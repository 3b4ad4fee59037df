import BellhopJSON
package import Operations
package import ServiceRuntime

/// The status for all operators at the console.
///
/// It is queried once for all of them, and stored as figures for the charts.
package actor StatusCache: Service {
    package nonisolated let name = "figures"
    private let context: OperationsContext
    private let time: any TimeSource
    private let interval: Duration
    private var reader = StatusSampler()
    private var points: [StatusSample] = []
    private var latest: (status: Reading, at: ContinuousClock.Instant)?
    private var underWay: Task<Reading, Never>?

    /// A status, or the reason why there is none.
    typealias Reading = Result<JSONValue, OperationError>

    package init(_ context: OperationsContext, time: any TimeSource, every interval: Duration = .seconds(10)) {
        self.context = context
        self.time = time
        self.interval = interval
    }

    /// Queries the status every ten seconds, even if no page is open, so that the charts have no gaps.
    package nonisolated func run(until drain: DrainSignal) async throws {
        while !drain.isDraining, !Task.isCancelled {
            await look()
            await drain.pause(for: interval)
        }
    }

    /// Returns the status, at most two seconds old.
    func current() async -> Reading {
        if let latest, time.steady() - latest.at < Self.freshness { return latest.status }
        if let underWay { return await underWay.value }
        let task = Task { [context] in await Self.read(in: context) }
        underWay = task
        let status = await task.value
        underWay = nil
        latest = (status, time.steady())
        return status
    }

    private static func read(in context: OperationsContext) async -> Reading {
        let nothing = OperationFields(items: [], values: [:], switches: [])
        do throws(OperationError) {
            return .success(try await Operation.status.read(nothing, in: context))
        } catch {
            return .failure(error)
        }
    }

    /// Stores the present figures.
    func look() async {
        guard case .success(let status) = await current(), let point = reader.read(status) else { return }
        points.append(point)
        if points.count > Self.most { points.removeFirst(points.count - Self.most) }
    }

    /// Returns all points, the oldest first, with the names of their columns.
    func figures() -> [UInt8] {
        let names = StatusSample.names.map(\.asJSONString).joined(separator: ",")
        let rows = points.map(\.json).joined(separator: ",")
        return Array("{\"names\":[\(names)],\"seconds\":\(interval.components.seconds),\"points\":[\(rows)]}".utf8)
    }

    private static let freshness = Duration.seconds(2)
    /// Points of three hours.
    private static let most = 1_080
}
