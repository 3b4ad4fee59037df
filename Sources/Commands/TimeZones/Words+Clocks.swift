import BellhopRules
import CLI
import Pipeline
import ServiceRuntime
import Settings

extension Words {
    func requiredHour(_ option: String) throws(CommandFailure) -> Int {
        guard let hour = try number(option, in: 0...23) else {
            throw misuse("--\(option) is missing")
        }
        return hour
    }

    /// Returns the days of `--days`, or none if the option is absent.
    func days() throws(CommandFailure) -> Set<Weekday> {
        guard let named = value("days") else { return [] }
        var days: Set<Weekday> = []
        for name in named.split(separator: ",", omittingEmptySubsequences: false) {
            guard let day = Weekday(rawValue: String(name)), days.insert(day).inserted else {
                let all = Weekday.allCases.map(\.rawValue).joined(separator: ",")
                throw misuse("--days takes some of \(all), each once; found \(named)")
            }
        }
        return days
    }
}

extension ZoneLibrary {
    /// Returns the zone that a command line names.
    func zone(_ name: TimeZoneName, for words: Words) throws(CommandFailure) -> Zone {
        if let zone = self[name] { return zone }
        guard !isThere else {
            throw words.misuse("--timezone takes a name of the tz database; \(folder) has no \(name)")
        }
        throw absence(attempted: "reading the zone \(name)")
    }
}

extension Zone.Transition {
    /// A text such as `the clocks go forward 1 h`.
    var text: String {
        let span = Duration.seconds(Swift.abs(after - before))
        return "the clocks go \(after > before ? "forward" : "back") \(span.shortText)"
    }
}
