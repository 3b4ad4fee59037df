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

    private init(spans: [Kind: Duration]) {
        self.spans = spans
    }

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
}

extension Duration {
    static func days(_ count: Int64) -> Duration { .seconds(count * 86_400) }
}
