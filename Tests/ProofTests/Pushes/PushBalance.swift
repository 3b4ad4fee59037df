import Sandbox

/// The pushes of a run as sets: expected pushes, the ledger, and the provider's requests.
struct PushBalance: EvenBalance {
    /// One notification to one device, as sent.
    struct Push: Hashable {
        let token: String
        let tag: String
    }

    /// One row of the ledger.
    struct Line {
        /// The record as `event|user`, as in `Sent.records`.
        let record: String
        let push: Push
        /// The state, with its reason if there is one.
        let state: String
        let attempts: Int
        let unknownSends: Int
    }

    /// The states of unfinished deliveries, for SQL.
    static let owed = "'pending', 'sending', 'retrying', 'deferred'"

    /// The number of distinct pushes that arrived.
    private(set) var pushes = 0
    /// The number of pushes that arrived, or may have arrived, beyond the first: the response to it or to the previous
    /// one was lost.
    private(set) var repeats = 0
    /// The number of sends with an unknown outcome, from the ledger.
    private(set) var unknown = 0
    /// The number of sends after an unknown outcome, from the metrics of the surviving workers.
    let counted: Int
    /// The number of requests that the provider rejected temporarily.
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
            // Without a response the provider may have accepted the push.
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
        // A repeat with another tag is a push without a delivery.
        unexpected += Set(arrived.keys).subtracting(lines.map(\.push)).map { "\($0)" }
    }

    /// Whether every push was delivered and arrived, without an unnecessary repeat or an unexpected push.
    var isEven: Bool { lost.isEmpty && doubled.isEmpty && unexpected.isEmpty && unfinished.isEmpty }

    /// The number of attempts in the ledger whose request the provider did not receive.
    var attemptsWithoutRequest: Int { attempts - pushes - repeats - refused }

    /// Whether every attempt in the ledger is a request that the provider received and answered.
    var hasOneRequestForEachAttempt: Bool { attempts == pushes + refused }

    var description: String {
        "pushes \(pushes), repeats \(repeats), unknown outcomes \(unknown), repeats counted \(counted), "
            + "refused for now \(refused), lost \(lost.count), doubled \(doubled.count), "
            + "unexpected \(unexpected.count), unfinished \(unfinished.count)"
            + (isEven ? "" : " such as \((unfinished + lost + doubled + unexpected).prefix(5))")
    }
}
