import BellhopJSON
package import ServiceRuntime

/// The status for all operators at the console.
///
/// It is queried once for all of them, and stored as figures for the charts.
package actor StatusCache: Service {
    package nonisolated let name = "figures"
    private let runner: CommandRunner
    private let time: any TimeSource
    private let interval: Duration
    private var reader = StatusSampler()
    private var points: [StatusSample] = []
    private var latest: (answer: CommandResult, at: ContinuousClock.Instant)?
    private var underWay: Task<CommandResult, Never>?

    package init(_ runner: @escaping CommandRunner, time: any TimeSource, every interval: Duration = .seconds(10)) {
        self.runner = runner
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
    func current() async -> CommandResult {
        if let latest, time.steady() - latest.at < Self.freshness { return latest.answer }
        if let underWay { return await underWay.value }
        let task = Task { [runner] in await runner(Self.question) }
        underWay = task
        let answer = await task.value
        underWay = nil
        latest = (answer, time.steady())
        return answer
    }

    /// Stores the present figures.
    func look() async {
        let answer = await current()
        guard let status = try? JSONParser(limits: Self.limits).parse(Array(answer.output.utf8)).get(),
            let point = reader.read(status)
        else { return }
        points.append(point)
        if points.count > Self.most { points.removeFirst(points.count - Self.most) }
    }

    /// Returns all points, the oldest first, with the names of their columns.
    func figures() -> [UInt8] {
        let names = StatusSample.names.map(\.asJSONString).joined(separator: ",")
        let rows = points.map(\.json).joined(separator: ",")
        return Array("{\"names\":[\(names)],\"seconds\":\(interval.components.seconds),\"points\":[\(rows)]}".utf8)
    }

    private static let question = CommandRequest(["status", "--json"])
    private static let freshness = Duration.seconds(2)
    private static let limits = JSONParser.Limits(bytes: 8 << 20, depth: 32)
    /// Points of three hours.
    private static let most = 1_080
}
