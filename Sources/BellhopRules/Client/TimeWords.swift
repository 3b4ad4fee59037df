/// The wording of dates and times in lists, such as `I dag kl.
///
/// 14:32` under the heading `I DAG`.
///
/// The wording is Norwegian or Swedish, and English for all other users. The notification centre uses the same wording
/// and the same table of test cases.
public struct TimeWords: Hashable, Sendable {
    private enum Language {
        case norwegian
        case swedish
        case english
    }

    private let language: Language

    /// Creates the wording for a user's language.
    public init(for language: LanguageTag) {
        self.language =
            switch language.language {
            case "nb", "no", "nn": .norwegian
            case "sv": .swedish
            default: .english
            }
    }

    /// Returns the heading of a group: `I DAG`, `I GÅR`, or the date.
    ///
    /// Days follow the zone's clock.
    public func day(of instant: Timestamp, now: Timestamp, in zone: Zone) -> String {
        let date = zone.local(at: instant).date
        return near(date, today: zone.local(at: now).date)?.uppercased() ?? written(date)
    }

    /// Returns day and time: `I dag kl.
    ///
    /// 14:32`, `I går kl. 18:45`, `19.02.2026 kl. 09:00`.
    ///
    /// An instant after today, which a fast clock can produce, is shown with its date.
    public func time(of instant: Timestamp, now: Timestamp, in zone: Zone) -> String {
        let moment = zone.local(at: instant)
        let day = near(moment.date, today: zone.local(at: now).date) ?? written(moment.date)
        return "\(day) \(language == .english ? "at" : "kl.") \(moment.time)"
    }

    private func near(_ date: LocalDate, today: LocalDate) -> String? {
        switch today.daysSinceEpoch - date.daysSinceEpoch {
        case 0: language == .english ? "Today" : "I dag"
        case 1: language == .english ? "Yesterday" : "I går"
        default: nil
        }
    }

    private func written(_ date: LocalDate) -> String {
        let (year, month, day) = date.parts
        switch language {
        case .norwegian: return "\(day.padded(to: 2)).\(month.padded(to: 2)).\(year)"
        case .swedish: return date.description
        case .english: return "\(day) \(Self.months[month - 1]) \(year)"
        }
    }

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
}
