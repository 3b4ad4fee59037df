/// Detects when a provider reports so many devices gone that a configuration error is likely: wrong credentials, a
/// wrong project or a wrong environment.
///
/// It evaluates the answers of the last ten minutes, in steps of one minute.
struct MassRevocationDetector {
    private struct Minute {
        let number: Int64
        var gone = 0
        var answers = 0
    }

    private var minutes: [Minute] = []

    /// The minimum for a mass failure; fewer do not count as one, whatever their share.
    static let fewest = 50

    private static let span: Int64 = 10

    /// Adds answers and returns whether there is a mass failure: at least fifty gone devices, and more than half of the
    /// answers.
    mutating func take(gone: Int, of answers: Int, atMinute number: Int64) -> Bool {
        minutes.removeAll { $0.number <= number - Self.span || $0.number > number }
        if minutes.last?.number != number { minutes.append(Minute(number: number)) }
        minutes[minutes.count - 1].gone += gone
        minutes[minutes.count - 1].answers += answers
        guard gone > 0 else { return false }
        let (allGone, all) = minutes.reduce((0, 0)) { ($0.0 + $1.gone, $0.1 + $1.answers) }
        return allGone >= Self.fewest && allGone * 2 > all
    }

    /// Starts again, after the alarm has been handled.
    mutating func reset() {
        minutes = []
    }
}
