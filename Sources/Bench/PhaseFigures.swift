import BellhopRules
import CLI
import Operations

/// The figures of one phase of W7, for people and for programs.
struct PhaseFigures: Sendable {
    let disturbance: Disturbance
    let eventsPerSecond: Double
    /// The rate divided by that of the first phase, which nothing disturbs.
    let share: Double
    let urgent: UrgentDelays
    let deadRows: Int
    let logBytesPerEvent: Double
    /// The events for which the worker's sessions waited, with their shares, the largest first.
    let waits: [(event: String, share: Double)]

    static let heading =
        "phase".padding(to: 30) + "events/s   relative   urgent: median     p99   dead rows   log an event   waits"

    var line: String {
        let columns = [
            (eventsPerSecond.text(digits: 0), 8), ((share * 100).text(digits: 0) + " %", 11),
            (urgent.p50.text(digits: 1) + " ms", 17), (urgent.p99.text(digits: 1) + " ms", 8), (String(deadRows), 12),
            (logBytesPerEvent.text(digits: 0) + " bytes", 15),
        ]
        let numbers = columns.map { text, width in text.rightAligned(to: width) }
        let waits = waits.prefix(3).map { "\($0.event) \(($0.share * 100).text(digits: 0)) %" }
        return disturbance.words.padding(to: 30) + numbers.joined() + "   " + waits.joined(separator: ", ")
    }

    var json: JSONValue {
        .members([
            ("phase", .string(disturbance.rawValue)), ("eventsPerSecond", .decimal(eventsPerSecond, digits: 1)),
            ("relativeRate", .decimal(share, digits: 3)), ("urgent", urgent.json), ("deadRows", .int(deadRows)),
            ("walBytesPerEvent", .decimal(logBytesPerEvent, digits: 1)),
            (
                "waits",
                .array(
                    waits.map { .members([("event", .string($0.event)), ("share", .decimal($0.share, digits: 3))]) }
                )
            ),
        ])
    }
}
