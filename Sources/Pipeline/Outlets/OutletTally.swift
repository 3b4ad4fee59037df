import BellhopRules
import Push
import ServiceRuntime
import Store

/// Counts the answers of an outlet's provider for operators: in the present minute and in the one before.
///
/// No decision depends on it.
struct OutletTally {
    private struct Minute {
        var number: Int64 = 0
        var accepted = 0
        var rejected = 0
        var gone = 0
        var spans = [Int](repeating: 0, count: Histogram.secondBounds.count + 1)
    }

    /// The first second that is counted, since 1970.
    private let start: Int64
    private var present = Minute()
    private var previous = Minute()
    private var acceptedAt: Timestamp?
    private var rejectedAt: Timestamp?
    private var word: String?

    init(from start: Timestamp) {
        self.start = start.microseconds / 1_000_000
    }

    /// The accepted messages since the start.
    private(set) var allAccepted = 0

    /// Counts the answers to one request.
    mutating func note(_ verdicts: [Verdict], took span: Duration, at now: Timestamp) {
        guard !verdicts.isEmpty else { return }
        turn(to: now)
        let accepted = verdicts.count(where: \.isTaken)
        allAccepted += accepted
        present.accepted += accepted
        present.rejected += verdicts.count - accepted
        present.gone += verdicts.count(where: \.isGone)
        let seconds = Double(span.microseconds) / 1_000_000
        for (place, bound) in Histogram.secondBounds.enumerated() where seconds <= bound { present.spans[place] += 1 }
        present.spans[present.spans.count - 1] += 1
        if accepted > 0 { acceptedAt = now }
        if let rejected = verdicts.last(where: { !$0.isTaken }) {
            rejectedAt = now
            word = rejected.reason?.rawValue
        }
    }

    /// Counts no device as gone any longer, because those of a mass failure are active again.
    mutating func forgetGone() {
        present.gone = 0
        previous.gone = 0
    }

    /// Returns the counts of the last minute or two.
    mutating func activity(of outlet: OutletKey, at now: Timestamp) -> OutletActivity {
        turn(to: now)
        var activity = OutletActivity(app: outlet.app.text, provider: outlet.provider)
        let seconds = now.microseconds / 1_000_000
        activity.seconds = Int(max(1, min(60 + seconds % 60, seconds - start)))
        activity.accepted = present.accepted + previous.accepted
        activity.rejected = present.rejected + previous.rejected
        activity.gone = present.gone + previous.gone
        activity.spans = zip(present.spans, previous.spans).map { $0 + $1 }
        (activity.acceptedAt, activity.rejectedAt, activity.word) = (acceptedAt, rejectedAt, word)
        return activity
    }

    private mutating func turn(to now: Timestamp) {
        let number = now.microseconds / 60_000_000
        guard number != present.number else { return }
        previous = number == present.number + 1 ? present : Minute()
        present = Minute()
        present.number = number
    }
}
