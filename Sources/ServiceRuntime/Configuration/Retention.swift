import Foundation

/// How long what has ended is kept, kind by kind.
///
/// Dead letters have a retention of their own, since those that nobody exported may not go: ``DeadLetterRetention``.
package struct Retention: Sendable, Equatable {
    package enum Kind: String, CaseIterable, Sendable {
        /// With the lines of their deliveries; from when they were recorded.
        case notifications
        /// Kept events; from when they were expanded or cancelled.
        case events
        /// From when they were left.
        case tombstones
        /// The addresses of devices, in clear; from when the device ended.
        case tokens
    }

    /// What is missing is kept for ever.
    private var spans: [Kind: Duration]

    /// What holds for the kinds that nobody has said anything about.
    package static let usual = Retention(spans: [
        .notifications: .days(365), .events: .days(90), .tombstones: .days(90), .tokens: .days(32),
    ])

    private init(spans: [Kind: Duration]) {
        self.spans = spans
    }

    /// Reads `notifications=365d,events=never`, each kind at most once; nil for anything else.
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

    /// Nil for what never goes.
    package subscript(kind: Kind) -> Duration? { spans[kind] }

    /// With the usual spans as long as something late may still come; what somebody chose stays what it is.
    func reaching(_ lateness: Lateness) -> Retention {
        var reaching = self
        for kind in Kind.allCases where self[kind] == Self.usual[kind] {
            reaching.spans[kind] = self[kind].map { max($0, lateness.least(of: kind).span) }
        }
        return reaching
    }

    /// As a person would write it.
    package var text: String {
        Kind.allCases.map { "\($0.rawValue)=\(self[$0]?.shortText ?? "never")" }.joined(separator: ",")
    }
}

extension Duration {
    static func days(_ count: Int64) -> Duration { .seconds(count * 86_400) }
}
