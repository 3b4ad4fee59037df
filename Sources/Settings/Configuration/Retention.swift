import Foundation

/// The retention period of each kind of completed data.
///
/// Dead letters have a separate setting, because unexported ones may be exempt: ``DeadLetterRetention``.
package struct Retention: Sendable, Equatable {
    package enum Kind: String, CaseIterable, Sendable {
        /// Notifications and the rows of their deliveries, counted from their record.
        case notifications
        /// Stored events, counted from their expansion or cancellation.
        case events
        /// Tombstones, counted from their creation.
        case tombstones
        /// The tokens of devices, in clear text, counted from the end of the device.
        case tokens
    }

    /// The period of each kind; a missing kind is kept indefinitely.
    private var spans: [Kind: Duration]

    /// The default periods.
    package static let usual = Retention(spans: [
        .notifications: .days(365), .events: .days(90), .tombstones: .days(90), .tokens: .days(32),
    ])

    private init(spans: [Kind: Duration]) { self.spans = spans }

    /// Reads `notifications=365d,events=never`, each kind at most once; `nil` for any other text.
    package init?(_ text: String) {
        self = .usual
        var said: Set<Kind> = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let words = part.split(separator: "=", omittingEmptySubsequences: false).map {
                $0.trimmingCharacters(in: .whitespaces)
            }
            guard words.count == 2, let kind = Kind(rawValue: words[0]), said.insert(kind).inserted else { return nil }
            if words[1] == "never" {
                spans[kind] = nil
            } else if let span = Duration(text: words[1]), span >= .days(1), span <= .days(3_650) {
                spans[kind] = span
            } else {
                return nil
            }
        }
    }

    /// The period of a kind; `nil` if it is never deleted.
    package subscript(kind: Kind) -> Duration? { spans[kind] }

    /// Returns these periods with another one for this kind, which may be shorter than the setting allows.
    package func keeping(_ kind: Kind, for span: Duration) -> Retention {
        var changed = self
        changed.spans[kind] = span
        return changed
    }

    /// Returns these periods with the default ones extended while late messages may still arrive.
    ///
    /// Configured periods are not changed.
    func reaching(_ lateness: LateArrival) -> Retention {
        var reaching = self
        for kind in Kind.allCases where self[kind] == Self.usual[kind] {
            reaching.spans[kind] = self[kind].map { max($0, lateness.least(of: kind).span) }
        }
        return reaching
    }

    /// The periods in their configuration form.
    package var text: String {
        Kind.allCases.map { "\($0.rawValue)=\(self[$0]?.shortText ?? "never")" }.joined(separator: ",")
    }

    /// Returns texts about the kinds that are deleted while late messages may still arrive.
    func shortfalls(_ lateness: LateArrival) -> [(found: String, expected: String)] {
        Kind.allCases.compactMap { kind in
            let (least, reason) = lateness.least(of: kind)
            guard let span = self[kind], span < least else { return nil }
            return ("\(kind.rawValue)=\(span.shortText) is too short", "at least \(least.shortText), since \(reason)")
        }
    }
}

extension Duration {
    static func days(_ count: Int64) -> Duration { .seconds(count * 86_400) }
}

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

/// The retention period of resolved or discarded dead letters.
///
/// Dead letters that wait for an operator are never deleted.
package struct DeadLetterRetention: Sendable, Equatable {
    package let span: Duration
    /// Whether dead letters that were never exported are deleted too.
    package let includesUnexported: Bool

    /// Reads `90d`, or `90d,unexported`; `nil` for any other text.
    package init?(_ text: String) {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false).map {
            $0.trimmingCharacters(in: .whitespaces)
        }
        guard let span = parts.first.flatMap({ Duration(text: $0) }), span >= .seconds(86_400),
            span <= .seconds(3_650 * 86_400), parts.count == 1 || parts.dropFirst() == ["unexported"]
        else { return nil }
        self.span = span
        includesUnexported = parts.count > 1
    }
}
