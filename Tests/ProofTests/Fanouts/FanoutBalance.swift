/// The rows and pushes of one fan-out as sets: followers, records and the number of pushes per device.
struct FanoutBalance: EvenBalance {
    /// One notification with its device's delivery.
    struct Line {
        let user: String
        let state: String
        let unknownSends: Int
    }

    private let rows: Int
    private let pushes: Int
    private let unknown: Int
    /// The pushes that arrived beyond the first of each follower.
    private(set) var repeats = 0
    private let letters: Int
    private var lost: [String] = []
    private var doubled: [String] = []
    private var unexpected: [String] = []
    private var unfinished: [String] = []

    init(users: Set<String>, lines: [Line], arrived tokens: [String], letters: Int) {
        self.letters = letters
        let arrived = Dictionary(tokens.map { ($0, 1) }, uniquingKeysWith: +)
        let recorded = Set(lines.map(\.user))
        rows = lines.count
        pushes = arrived.count
        unknown = lines.reduce(0) { $0 + $1.unknownSends }
        lost = users.subtracting(recorded).map { "record of \($0)" }
        unexpected = recorded.subtracting(users).map { "record of \($0)" }
        if lines.count > recorded.count { doubled.append("\(lines.count - recorded.count) records") }
        for line in lines {
            let count = arrived["token-\(line.user)", default: 0]
            if line.state != "delivered" { unfinished.append("\(line.user): \(line.state)") }
            if count == 0 { lost.append("push to \(line.user)") }
            if count > 1 + line.unknownSends { doubled.append("\(count) pushes to \(line.user)") }
            repeats += max(0, count - 1)
        }
        unexpected += Set(arrived.keys).subtracting(users.map { "token-\($0)" }).map { "push to \($0)" }
    }

    /// Whether each follower has one record and at least one push, and a second push only after an unknown outcome.
    var isEven: Bool {
        lost.isEmpty && doubled.isEmpty && unexpected.isEmpty && unfinished.isEmpty && letters == 0
    }

    var description: String {
        "rows \(rows), pushes \(pushes), repeats \(repeats), unknown outcomes \(unknown), lost \(lost.count), "
            + "doubled \(doubled.count), unexpected \(unexpected.count), unfinished \(unfinished.count), "
            + "dead letters \(letters)"
            + (isEven ? "" : " such as \((unfinished + lost + doubled + unexpected).prefix(5))")
    }
}
