import BellhopRules
import CLI
import Operations

/// The state of a soak at one time.
struct SoakSample: Sendable {
    /// The time since the load began.
    let seconds: Double
    /// The events per second since the last sample.
    let eventsPerSecond: Double
    /// The pushes that had not arrived yet.
    let waiting: Int
    /// The resident memory of the worker in bytes.
    let memory: Int
    /// The open files and connections of the worker.
    let descriptors: Int
    /// The size of the schema's tables and indexes in bytes.
    let disk: Int
    /// The 99th percentile of the timed events since the last sample, in milliseconds; `nil` if none arrived.
    let p99: Double?
    /// The resident memory of this process in bytes.
    let ownMemory: Int

    static let heading =
        "minute   events/s   waiting      memory   descriptors          disk   p99, ms   memory of the benchmark"

    var line: String {
        let columns = [
            (minute, 6), (eventsPerSecond.text(digits: 0), 11), (String(waiting), 10),
            (memory.megabytes, 12), (String(descriptors), 14), (disk.megabytes, 14),
            (p99.map { $0.text(digits: 1) } ?? "–", 10), (ownMemory.megabytes, 26),
        ]
        return columns.map { text, width in text.rightAligned(to: width) }.joined()
    }

    private var minute: String { (seconds / 60).text(digits: seconds < 600 ? 2 : 1) }

    /// The figures in one line, for the progress.
    var words: String {
        let delay = p99.map { "p99 \($0.text(digits: 1)) ms" } ?? "no timed event"
        return "minute \(minute): \(eventsPerSecond.text(digits: 0)) events/s, "
            + "\(memory.megabytes), \(descriptors) descriptors, disk \(disk.megabytes), \(delay)"
    }

    var json: JSONValue {
        .members([
            ("seconds", .decimal(seconds, digits: 1)), ("eventsPerSecond", .decimal(eventsPerSecond, digits: 1)),
            ("waiting", .int(waiting)), ("memoryBytes", .int(memory)), ("descriptors", .int(descriptors)),
            ("diskBytes", .int(disk)), ("p99", p99.map { .decimal($0, digits: 2) } ?? .null),
            ("benchmarkMemoryBytes", .int(ownMemory)),
        ])
    }
}

/// The slopes of a soak's samples.
///
/// The first quarter of the time is left out: caches fill, and the tables grow until the first rows are deleted.
struct SoakTrends: Sendable {
    let memory: Trend
    let descriptors: Trend
    let disk: Trend
    let p99: Trend
    let ownMemory: Trend

    init(_ samples: [SoakSample]) {
        let start = (samples.last?.seconds ?? 0) / 4
        let steady = samples.filter { $0.seconds > start }
        func trend(_ tolerance: Double, _ value: (SoakSample) -> Double?) -> Trend {
            let points = steady.compactMap { sample in value(sample).map { (sample.seconds / 3_600, $0) } }
            return Trend(points, tolerance: tolerance)
        }
        memory = trend(0.05) { Double($0.memory) }
        descriptors = trend(0.05) { Double($0.descriptors) }
        disk = trend(0.05) { Double($0.disk) }
        // The percentile depends on the machine's other work more than the sizes do.
        p99 = trend(0.5, \.p99)
        ownMemory = trend(0.05) { Double($0.ownMemory) }
    }

    /// The figures that grow, as faults; the benchmark's own memory is not counted.
    var faults: [String] {
        [("the worker's memory", memory), ("the worker's descriptors", descriptors), ("the disk", disk), ("p99", p99)]
            .filter { $0.1.verdict == .grows }.map { "\($0.0) grows" }
    }

    var figures: [BenchReport.Figure] {
        func bytes(_ value: Double) -> String { Int(value).megabytes }
        return [
            .both("memory", memory.words(bytes), "memoryBytes", memory.json(digits: 0)),
            .both(
                "descriptors",
                descriptors.words { $0.text(digits: 1) },
                "descriptors",
                descriptors.json(digits: 2)
            ),
            .both("disk", disk.words(bytes), "diskBytes", disk.json(digits: 0)),
            .both("p99", p99.words { $0.text(digits: 1) + " ms" }, "p99", p99.json(digits: 2)),
            .both(
                "memory of the benchmark",
                ownMemory.words(bytes),
                "benchmarkMemoryBytes",
                ownMemory.json(digits: 0)
            ),
        ]
    }
}
