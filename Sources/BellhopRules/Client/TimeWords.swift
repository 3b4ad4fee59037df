/// When something was, in the words of a list: `I dag kl. 14:32` under the heading `I DAG`.
///
/// In Norwegian and Swedish, and in English for everybody else. The notification centre says the same by the same table
/// of cases.
public struct TimeWords: Hashable, Sendable {
    private enum Language {
        case norwegian
        case swedish
        case english
    }

    private let language: Language

    /// The words for a reader of a language.
    public init(for language: LanguageTag) {
        self.language =
            switch language.language {
            case "nb", "no", "nn": .norwegian
            case "sv": .swedish
            default: .english
            }
    }

    /// The heading of a group: `I DAG`, `I GÅR`, or the date; days are those of the zone's clock.
    public func day(of instant: Timestamp, now: Timestamp, in zone: Zone) -> String {
        let date = zone.local(at: instant).date
        return near(date, today: zone.local(at: now).date)?.uppercased() ?? written(date)
    }

    /// Day and time: `I dag kl. 14:32`, `I går kl. 18:45`, `19.02.2026 kl. 09:00`.
    ///
    /// What a clock that is ahead dates tomorrow has its date.
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
