/// What may come late, and against which something has to be remembered for so long.
struct Lateness: Sendable {
    /// How long after its first failure a dead letter may be replayed.
    let replayHorizon: Duration
    /// The delays between the attempts of a delivery, rising; the last one repeats.
    let retryDelays: [Duration]
    let retryLimit: Int

    /// Attempt n + 1 waits in the n-th tier, later ones in the last.
    private var retries: Duration {
        (0..<max(0, retryLimit - 1)).reduce(.zero) { sum, attempt in
            sum + (retryDelays.isEmpty ? .zero : retryDelays[min(attempt, retryDelays.count - 1)])
        }
    }

    /// From a notification's record to the failure that makes a dead letter of it: the retries, and a day in which receipts
    /// are asked for.
    var lead: Duration { retries + .days(1) }

    /// From a notification's record to the last moment at which a replay may ask whether it was recorded.
    ///
    /// The others are remembered as long: what was sent within the horizon arrives a little later.
    private var reach: Duration { replayHorizon + lead }

    /// How long a kind has to be kept at least, in whole days, and what for.
    func least(of kind: Retention.Kind) -> (span: Duration, reason: String) {
        let horizon = "a dead letter may be replayed for \(replayHorizon.shortText)"
        return switch kind {
        case .notifications:
            (
                wholeDays(reach),
                "\(horizon), after its retries and a day of receipts, and would notify people a second time"
            )
        case .events:
            (wholeDays(reach), "\(horizon), and would go out although the event has, or was cancelled")
        case .tombstones: (wholeDays(reach), "\(horizon), and would bring back what was deleted")
        case .tokens: (wholeDays(reach), "\(horizon), and would give a device back to its former owner")
        }
    }

    /// Rounded up, so that what is said to suffice does.
    private func wholeDays(_ span: Duration) -> Duration {
        .days((span.components.seconds + 86_399) / 86_400)
    }
}

extension Retention {
    /// The kinds that are forgotten while something late may still come, in words.
    func shortfalls(_ lateness: Lateness) -> [(found: String, expected: String)] {
        Kind.allCases.compactMap { kind in
            let (least, reason) = lateness.least(of: kind)
            guard let span = self[kind], span < least else { return nil }
            return ("\(kind.rawValue)=\(span.shortText) is too short", "at least \(least.shortText), since \(reason)")
        }
    }
}
