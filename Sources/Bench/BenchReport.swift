import BellhopRules
import CLI
import ServiceRuntime

/// The result of a run.
///
/// Each figure has a line for people and a member for programs.
struct BenchReport: Sendable {
    let workload: String
    let title: String
    let machine: MachineDescription
    let figures: [Figure]
    var verification: Verification?
    /// Whether the result matches the workload's own count.
    var isRight = true
    /// The chart in SVG; `nil` for a run without one.
    var chart: String?

    struct Figure: Sendable {
        /// The line for people, or `nil` if another line contains the figure.
        let line: String?
        /// The member for programs, or `nil` if another member contains the figure.
        let member: (name: String, value: JSONValue)?

        /// Makes a figure for programs only.
        static func told(_ name: String, _ value: JSONValue) -> Figure { Figure(line: nil, member: (name, value)) }

        /// Makes a figure for people only.
        static func shown(_ line: String) -> Figure { Figure(line: line, member: nil) }

        /// Makes a figure for both.
        static func both(_ label: String, _ words: String, _ name: String, _ value: JSONValue) -> Figure {
            Figure(line: label.padding(to: 26) + words, member: (name, value))
        }
    }

    var text: String {
        var lines = [title, machine.text, ""] + figures.compactMap(\.line)
        if let verification {
            lines.append("")
            lines +=
                verification.faults.isEmpty
                ? ["checked: nothing lost, nothing doubled"] : verification.faults.map { "WRONG: \($0)" }
        }
        return lines.joined(separator: "\n")
    }

    var json: JSONValue {
        var members =
            [("workload", JSONValue.string(workload))] + figures.compactMap { $0.member.map { ($0.name, $0.value) } }
        members.append(("machine", machine.json))
        if let verification { members.append(("verification", verification.json)) }
        return .members(members)
    }
}

extension BenchReport {
    /// Creates the report of a run that is checked against the workload's own count.
    init(
        _ workload: String,
        _ title: String,
        _ machine: MachineDescription,
        _ figures: [Figure],
        _ verified: Verification
    ) {
        self.init(workload: workload, title: title, machine: machine, figures: figures, verification: verified)
        isRight = verified.faults.isEmpty
    }
}

extension String {
    /// Returns the text padded with spaces up to a column.
    func padding(to width: Int) -> String {
        self + String(repeating: " ", count: max(1, width - count))
    }

    /// Fills the text at its beginning, by at least one space.
    func rightAligned(to width: Int) -> String { String(repeating: " ", count: max(1, width - count)) + self }
}

extension Int {
    /// The size as `12.3 MB`.
    var megabytes: String { (Double(self) / 1e6).text(digits: 1) + " MB" }
}
