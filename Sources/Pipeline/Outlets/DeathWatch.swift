/// Notices when a provider calls so many devices dead that the fault must be ours: a wrong key, a wrong project, a wrong
/// environment.
///
/// It looks at the answers of the last ten minutes, in steps of one.
struct DeathWatch {
    private struct Minute {
        let number: Int64
        var gone = 0
        var answers = 0
    }

    private var minutes: [Minute] = []

    /// Fewer are no mass, whatever their share.
    static let fewest = 50

    private static let span: Int64 = 10

    /// Takes answers in, and says whether devices die in masses: fifty at least, and more than every second answer.
    mutating func take(gone: Int, of answers: Int, atMinute number: Int64) -> Bool {
        minutes.removeAll { $0.number <= number - Self.span || $0.number > number }
        if minutes.last?.number != number { minutes.append(Minute(number: number)) }
        minutes[minutes.count - 1].gone += gone
        minutes[minutes.count - 1].answers += answers
        guard gone > 0 else { return false }
        let (allGone, all) = minutes.reduce((0, 0)) { ($0.0 + $1.gone, $0.1 + $1.answers) }
        return allGone >= Self.fewest && allGone * 2 > all
    }

    /// Begins anew, once it is known what it was.
    mutating func reset() {
        minutes = []
    }
}
