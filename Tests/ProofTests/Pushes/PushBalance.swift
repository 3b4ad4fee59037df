import Sandbox

/// The pushes of a run as sets: what was to go out, what the ledger says, and what the provider received.
struct PushBalance: EvenBalance {
    /// One notification on one device, as it travels.
    struct Push: Hashable {
        let token: String
        let tag: String
    }

    /// One line of the ledger.
    struct Line {
        /// `event|user`, as in `Sent.records`.
        let record: String
        let push: Push
        /// With its reason, where it has one.
        let state: String
        let attempts: Int
        let unknownSends: Int
    }

    /// The states in which somebody still has to do something, for SQL.
    static let owed = "'pending', 'sending', 'retrying', 'deferred'"

    /// Distinct pushes that arrived.
    private(set) var pushes = 0
    /// What arrived, or may have, beyond the first of each push: no answer reached us of it, or of the one before.
    private(set) var repeats = 0
    /// Sends whose outcome nobody learnt, by the ledger.
    private(set) var unknown = 0
    /// Sends after such an outcome, by the meters of the workers that lived to tell.
    let counted: Int
    /// Requests that the provider refused for now.
    private(set) var refused = 0
    private var attempts = 0
    private var lost: [String] = []
    private var doubled: [String] = []
    private var unexpected: [String] = []
    private var unfinished: [String] = []

    init(expected: Set<String>, lines: [Line], received: [ReceivedRequest], counted: Int) {
        self.counted = counted
        var arrived: [Push: Int] = [:]
        for request in received {
            let push = Push(token: request.token ?? "-", tag: request.tag ?? "-")
            if request.refused != nil { unexpected.append("malformed \(push)") }
            // Without an answer the provider may have taken it.
            if request.answer.map({ (200..<300).contains($0.status) }) ?? true {
                arrived[push, default: 0] += 1
            } else {
                refused += 1
            }
        }
        pushes = arrived.count
        attempts = lines.reduce(0) { $0 + $1.attempts }
        unknown = lines.reduce(0) { $0 + $1.unknownSends }
        compare(lines, with: expected, arrived)
    }

    private mutating func compare(_ lines: [Line], with expected: Set<String>, _ arrived: [Push: Int]) {
        for line in lines {
            let count = arrived[line.push, default: 0]
            if line.state != "delivered" { unfinished.append("\(line.record): \(line.state)") }
            if count == 0 { lost.append("push of \(line.record)") }
            if count > 1 + line.unknownSends {
                doubled.append("\(line.record): \(count) pushes, \(line.unknownSends) unknown")
            }
            repeats += max(0, count - 1)
        }
        let records = Set(lines.map(\.record))
        lost += expected.subtracting(records).map { "line of \($0)" }
        unexpected += records.subtracting(expected)
        if lines.count > records.count { doubled.append("\(lines.count - records.count) lines") }
        // A repeat under another tag is a push that no line knows.
        unexpected += Set(arrived.keys).subtracting(lines.map(\.push)).map { "\($0)" }
    }

    /// Every push is delivered and arrived, none without need, and nothing else did.
    var isEven: Bool { lost.isEmpty && doubled.isEmpty && unexpected.isEmpty && unfinished.isEmpty }

    /// Every attempt that the ledger counts is a request that the provider saw and answered.
    var hasOneRequestForEachAttempt: Bool { attempts == pushes + refused }

    var description: String {
        "pushes \(pushes), repeats \(repeats), unknown outcomes \(unknown), repeats counted \(counted), "
            + "refused for now \(refused), lost \(lost.count), doubled \(doubled.count), "
            + "unexpected \(unexpected.count), unfinished \(unfinished.count)"
            + (isEven ? "" : " such as \((unfinished + lost + doubled + unexpected).prefix(5))")
    }
}
