/// What a run came to: each figure with what people and what programs call it.
struct BenchReport: Sendable {
    let workload: String
    let title: String
    let machine: MachineDescription
    let figures: [Figure]
    var verification: Verification?
    /// Whether it led to what the workload's own count says.
    var isRight = true

    struct Figure: Sendable {
        /// Its line for people; nil where they read it elsewhere.
        let line: String?
        /// Its member for programs; nil where they read it elsewhere.
        let member: (name: String, value: JSONText)?

        /// For programs alone.
        static func told(_ name: String, _ value: JSONText) -> Figure { Figure(line: nil, member: (name, value)) }

        /// For people alone.
        static func shown(_ line: String) -> Figure { Figure(line: line, member: nil) }

        /// For both.
        static func both(_ label: String, _ words: String, _ name: String, _ value: JSONText) -> Figure {
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

    var json: JSONText {
        var members =
            [("workload", JSONText.text(workload))] + figures.compactMap { $0.member.map { ($0.name, $0.value) } }
        members.append(("machine", machine.json))
        if let verification { members.append(("verification", verification.json)) }
        return .object(members)
    }
}

extension BenchReport {
    /// Of a run that is held against what the workload's own count says.
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
    /// With blanks up to a column.
    func padding(to width: Int) -> String {
        self + String(repeating: " ", count: max(1, width - count))
    }
}

extension Int {
    /// `12.3 MB`.
    var megabytes: String { (Double(self) / 1e6).text(digits: 1) + " MB" }
}
