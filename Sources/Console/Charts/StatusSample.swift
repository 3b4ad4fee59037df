import BellhopJSON
import BellhopRules
import Operations
import ServiceRuntime

/// The figures of a status at one moment.
///
/// Unavailable ones are absent.
struct StatusSample: Sendable, Equatable {
    /// The names of the figures, in the order of the JSON.
    static let names = [
        "recorded", "delivered", "failed", "retrying", "deadLettered", "storedMedian", "storedSlow", "pushedMedian",
        "pushedSlow", "urgent", "normal", "bulk", "owed", "overdue", "backlog", "backlogAge", "deadLetters", "workers",
    ]

    /// Milliseconds since 1970.
    let at: Int64
    let values: [String: Double]

    /// The time followed by the values, as `[at,value,…]`, in the order of ``names``.
    var json: String {
        let numbers = Self.names.map { name in values[name].map(Self.text) ?? "null" }
        return "[\(at),\(numbers.joined(separator: ","))]"
    }

    private static func text(_ number: Double) -> String {
        guard number.isFinite else { return "null" }
        let thousandths = Int64(exactly: (number * 1_000).rounded()) ?? 0
        let rest = thousandths.magnitude % 1_000
        let fraction = rest == 0 ? "" : "." + String(rest + 1_000).dropFirst()
        return "\(thousandths < 0 ? "-" : "")\(thousandths.magnitude / 1_000)\(fraction)"
    }
}

/// Converts consecutive statuses into points.
///
/// It keeps the previous status, since a rate needs two.
struct StatusSampler: Sendable {
    /// The last report of a process.
    private struct Heard {
        let at: Int64
        let figures: [String: [Int]]
        var rates: [String: Double] = [:]
        var spans: [String: [Int]] = [:]
    }

    private var processes: [String: Heard] = [:]

    init() {}

    mutating func read(_ status: JSONValue) -> StatusSample? {
        guard let at = Self.moment(status["at"]) else { return nil }
        hear(status["processes"]?.array ?? [])
        var values: [String: Double] = [:]
        addRates(&values)
        addQueues(status, &values)
        addTables(status, at, &values)
        return StatusSample(at: at, values: values)
    }

    // MARK: - Reports of processes

    private mutating func hear(_ reports: [JSONValue]) {
        var heard: [String: Heard] = [:]
        for report in reports.prefix(1_000) {
            guard let id = report["id"]?.string, let at = Self.moment(report["seenAt"]),
                let figures = report["figures"]?.object, !figures.isEmpty
            else { continue }
            heard[id] = Self.difference(processes[id], Heard(at: at, figures: Self.numbers(figures)))
        }
        processes = heard
    }

    private static func numbers(_ figures: JSONObject) -> [String: [Int]] {
        var numbers: [String: [Int]] = [:]
        for figure in figures.members {
            numbers[figure.key] = figure.value.array?.compactMap { $0.number?.int64.map { Int(clamping: $0) } }
        }
        return numbers
    }

    /// Returns a report with the changes since the previous one.
    ///
    /// Without a newer report, the previous one stays valid. A report that follows too soon would have the rate of a
    /// moment: a process reports a change of its state immediately, and several reports may wait for a database.
    private static func difference(_ before: Heard?, _ now: Heard) -> Heard {
        guard let before else { return now }
        guard now.at - before.at >= leastInterval else { return before }
        var now = now
        let seconds = Double(now.at - before.at) / 1_000
        for (name, numbers) in now.figures {
            guard let old = before.figures[name], old.count == numbers.count else { continue }
            let done = zip(numbers, old).map { max(0, $0.subtractingReportingOverflow($1).partialValue) }
            if done.count == 1 { now.rates[name] = Double(done[0]) / seconds } else { now.spans[name] = done }
        }
        return now
    }

    /// The shortest time between two reports for a rate, in milliseconds: half of the usual one.
    private static let leastInterval: Int64 = 5_000

    private func addRates(_ values: inout [String: Double]) {
        let heard = processes.values.filter { !$0.rates.isEmpty }
        guard !heard.isEmpty else { return }
        for name in ["recorded", "delivered", "failed", "retrying", "deadLettered"] {
            values[name] = heard.compactMap { $0.rates[name] }.reduce(0, +)
        }
        for name in ["stored", "pushed"] {
            let all = heard.compactMap { $0.spans[name] }
            let sums = Self.sums(all)
            values["\(name)Median"] = RequestTimes.quantile(0.5, sums)
            values["\(name)Slow"] = RequestTimes.quantile(0.95, sums)
        }
    }

    private static func sums(_ rows: [[Int]]) -> [Int] {
        var sums = [Int](repeating: 0, count: Histogram.secondBounds.count + 1)
        for row in rows where row.count == sums.count {
            for (place, number) in row.enumerated() {
                sums[place] = sums[place].addingReportingOverflow(number).partialValue
            }
        }
        return sums
    }

    // MARK: - Data of broker and database

    private func addQueues(_ status: JSONValue, _ values: inout [String: Double]) {
        for queue in status["lanes"]?.array ?? [] {
            guard let lane = queue["lane"]?.string, let ready = queue["ready"]?.number?.double else { continue }
            if StatusSample.names.contains(lane) { values[lane] = ready }
        }
        let workers = status["processes"]?.array?.filter { one in
            one["role"]?.string == "worker" && one["drainingSince"]?.string == nil
        }
        values["workers"] = workers.map { Double($0.count) }
    }

    private func addTables(_ status: JSONValue, _ at: Int64, _ values: inout [String: Double]) {
        values["owed"] = status["deliveries"]?["owed"]?.number?.double
        values["overdue"] = status["deliveries"]?["overdue"]?.number?.double
        values["deadLetters"] = status["deadLetters"]?["open"]?.number?.double
        guard let backlogs = status["backlogs"]?.array else { return }
        values["backlog"] = backlogs.compactMap { $0["waiting"]?.number?.double }.reduce(0, +)
        let oldest = backlogs.compactMap { Self.moment($0["oldestAt"]) }.min()
        values["backlogAge"] = oldest.map { Double(max(0, at - $0)) / 1_000 } ?? 0
    }

    private static func moment(_ json: JSONValue?) -> Int64? {
        json?.string.flatMap(Timestamp.init(validating:)).map { $0.microseconds / 1_000 }
    }
}
