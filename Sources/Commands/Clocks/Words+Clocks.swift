import BellhopRules
import Pipeline
import ServiceRuntime

extension Words {
    /// What an option has to say, in a form that reads its text.
    func required<Value>(
        _ option: String,
        _ rule: String,
        of command: String,
        _ read: (String) -> Value?
    ) throws(CommandFailure) -> Value {
        guard let text = value(option) else { throw .usage(of: command, "--\(option) is missing") }
        guard let value = read(text) else {
            throw .usage(of: command, "--\(option) takes \(rule); found \(text)")
        }
        return value
    }

    func requiredHour(_ option: String, of command: String) throws(CommandFailure) -> Int {
        guard let hour = try number(option, in: 0...23, of: command) else {
            throw .usage(of: command, "--\(option) is missing")
        }
        return hour
    }

    /// The days of `--days`, none without it.
    func days(of command: String) throws(CommandFailure) -> Set<Weekday> {
        guard let named = value("days") else { return [] }
        var days: Set<Weekday> = []
        for name in named.split(separator: ",", omittingEmptySubsequences: false) {
            guard let day = Weekday(rawValue: String(name)), days.insert(day).inserted else {
                let all = Weekday.allCases.map(\.rawValue).joined(separator: ",")
                throw .usage(of: command, "--days takes some of \(all), each once; found \(named)")
            }
        }
        return days
    }
}

extension ZoneLibrary {
    /// The zone that a command line names.
    func zone(_ name: TimeZoneName, of command: String) throws(CommandFailure) -> Zone {
        if let zone = self[name] { return zone }
        guard !isThere else {
            throw .usage(of: command, "--timezone takes a name of the tz database; \(folder) has no \(name)")
        }
        throw absence(attempted: "reading the zone \(name)")
    }

    /// What to say of a machine without a tz database.
    func absence(attempted: String) -> CommandFailure {
        CommandFailure(
            .configuration,
            attempted: attempted,
            cameBack: "there is no tz database in \(folder)",
            whatToDo: "install tzdata, or point TZDIR at the folder that has it"
        )
    }
}

extension Zone.Transition {
    /// `the clocks go forward 1 h`.
    var text: String {
        let span = Duration.seconds(Swift.abs(after - before))
        return "the clocks go \(after > before ? "forward" : "back") \(span.shortText)"
    }
}
