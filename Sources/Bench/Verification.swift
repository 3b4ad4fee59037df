import BellhopRules
import CLI
import Store

/// Compares a run's result with the workload's own count: nothing is lost and nothing is duplicated.
struct Verification: Sendable {
    let expectedEvents: Int
    let notifications: Int
    let distinctNotifications: Int
    let expectedEndings: [BenchmarkBook.Ending: Int]
    let endings: [BenchmarkBook.Ending: Int]
    let hasDeadLetters: Bool
    let expectedPushes: Int
    /// The pushes that the stub has counted, or `nil` if the stub is not ours.
    let pushes: Int?
    /// Further faults, in words.
    var others: [String] = []

    /// The faults in words.
    ///
    /// It is empty if everything is correct.
    var faults: [String] {
        var faults: [String] = []
        if notifications != expectedEvents {
            faults.append("\(notifications) notifications for \(expectedEvents) events")
        }
        if distinctNotifications != notifications {
            faults.append("\(notifications - distinctNotifications) notifications are doubled")
        }
        for ending in Set(endings.keys).union(expectedEndings.keys).sorted(by: { $0.words < $1.words }) {
            let (found, expected) = (endings[ending] ?? 0, expectedEndings[ending] ?? 0)
            if found != expected { faults.append("\(found) deliveries \(ending.words), expected \(expected)") }
        }
        if hasDeadLetters { faults.append("the dead-letter queue is not empty") }
        if let pushes, pushes != expectedPushes {
            faults.append("\(pushes) pushes arrived, expected \(expectedPushes)")
        }
        return faults + others
    }

    var json: JSONValue {
        .members([
            ("passed", .bool(faults.isEmpty)), ("faults", .array(faults.map(JSONValue.string))),
            ("notifications", .int(notifications)), ("pushesExpected", .int(expectedPushes)),
            ("pushesArrived", pushes.map(JSONValue.int) ?? .null),
            (
                "deliveries",
                .members(endings.sorted { $0.key.words < $1.key.words }.map { ($0.key.words, .int($0.value)) })
            ),
        ])
    }
}

extension BenchmarkBook.Ending {
    var words: String { reason.isEmpty ? state : "\(state) (\(reason))" }
}
