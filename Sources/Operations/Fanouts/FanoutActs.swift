package import BellhopJSON
import ServiceRuntime
package import Store

/// The fan-outs of a list, and the number of all that match.
package struct FanoutList: Sendable {
    package let count: Int
    package let fanouts: [FanoutAnswer]

    package init(count: Int, fanouts: [FanoutAnswer]) {
        self.count = count
        self.fanouts = fanouts
    }

    package var json: JSONValue {
        .members([("count", .int(count)), ("fanouts", .array(fanouts.map { .members($0.members) }))])
    }
}

/// The fan-outs that an act would affect.
package struct FanoutActPreview: Sendable {
    package let act: FanoutAdmin.Act
    let filter: FanoutFilter
    package let count: Int

    package var question: ActQuestion {
        ActQuestion(count: count, act.verb, count.of("fan-out"))
    }

    /// The answer of the act: the number of changed fan-outs, and the holds that still stop the pushes of the only one.
    package static func json(_ items: Int, stoppedBy holds: [OperatorHold] = []) -> JSONValue {
        let stopped: [(String, JSONValue)] = holds.isEmpty ? [] : [("holds", .array(holds.map(\.reference)))]
        return .members([("fanouts", .int(items))] + stopped)
    }
}

extension FanoutAdmin.Act {
    fileprivate var verb: ActVerb {
        switch self {
        case .pause: .pauses
        case .resume: .resumes
        case .cancel: .cancels
        }
    }
}
