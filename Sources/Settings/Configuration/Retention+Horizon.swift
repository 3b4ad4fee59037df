/// The settings that determine how late a message may arrive, and therefore how long records must be kept.
struct LateArrival: Sendable {
    /// The time after its first failure in which a dead letter may be replayed.
    let replayHorizon: Duration
    /// The delays between the attempts of a delivery, in increasing order; the last one repeats.
    let retryDelays: [Duration]
    let retryLimit: Int

    /// The sum of all delays: attempt n + 1 waits in the n-th tier, later ones in the last.
    private var retries: Duration {
        (0..<max(0, retryLimit - 1)).reduce(.zero) { sum, attempt in
            sum + (retryDelays.isEmpty ? .zero : retryDelays[min(attempt, retryDelays.count - 1)])
        }
    }

    /// The time from a notification's record to the failure that makes it a dead letter: the retries, and one day in
    /// which receipts are queried.
    var lead: Duration { retries + .days(1) }

    /// The time from a notification's record to the last moment at which a replay may check whether it was recorded.
    ///
    /// The other kinds are kept as long: a message that was sent within the horizon arrives a little later.
    private var reach: Duration { replayHorizon + lead }

    /// Returns the minimum retention period of a kind in whole days, with its reason.
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

    /// Rounds up to whole days, so that the stated minimum suffices.
    private func wholeDays(_ span: Duration) -> Duration {
        .days((span.components.seconds + 86_399) / 86_400)
    }
}

extension Retention {
    /// Returns texts about the kinds that are deleted while late messages may still arrive.
    func shortfalls(_ lateness: LateArrival) -> [(found: String, expected: String)] {
        Kind.allCases.compactMap { kind in
            let (least, reason) = lateness.least(of: kind)
            guard let span = self[kind], span < least else { return nil }
            return ("\(kind.rawValue)=\(span.shortText) is too short", "at least \(least.shortText), since \(reason)")
        }
    }
}
