import BellhopRules
import Pipeline
import ServiceRuntime

/// The command `bellhop quiet`: the rule of quiet hours alone, without servers.
struct QuietCommand: Command {
    static let name = "quiet"
    static let summary = "Says whether an instant lies in a user's quiet hours, and when they are over."
    static let synopsis = ["quiet --start H --end H --timezone Z --at INSTANT [--json]"]
    static let options = [
        Option.taking("start", "H", "first quiet hour, 0 to 23"),
        Option.taking("end", "H", "first hour after them, 0 to 23; the same as --start: never quiet"),
        Option.taking("timezone", "Z", "whose clocks count, such as Europe/Oslo"),
        Option.taking("at", "INSTANT", "the instant, such as 2026-03-29T00:30:00Z"),
        Option.json,
    ]

    private let hours: QuietHours
    private let zoneName: TimeZoneName
    private let instant: Timestamp
    private let wantsJSON: Bool

    init(_ words: Words) throws(CommandFailure) {
        try words.expectNoOperands(of: Self.name)
        hours = QuietHours(
            enabled: true,
            startHour: try words.requiredHour("start", of: Self.name),
            endHour: try words.requiredHour("end", of: Self.name)
        )
        zoneName = try words.required(
            "timezone",
            TimeZoneName.rule,
            of: Self.name,
            TimeZoneName.init(validating:)
        )
        instant = try words.required("at", Timestamp.rule, of: Self.name, Timestamp.init(validating:))
        wantsJSON = words.has("json")
    }

    func run(_ surroundings: Surroundings) async throws -> ExitCode {
        let zone = try ZoneLibrary(environment: surroundings.environment).zone(zoneName, of: Self.name)
        let until = hours.until(instant, in: zone)
        if wantsJSON {
            let json = JSONText.object([("quiet", .flag(until != nil)), ("until", .optional(until?.description))])
            surroundings.print(json.description)
        } else {
            for line in lines(zone, until) { surroundings.print(line) }
        }
        return .done
    }

    private func lines(_ zone: Zone, _ until: Timestamp?) -> [String] {
        let present = "it is \(zone.local(at: instant)) in \(zone.name)"
        guard let until else { return ["\(present): not quiet, \(window)"] }
        var lines = ["\(present): quiet, \(window)", "until \(zone.local(at: until)), which is \(until)"]
        var earlier = instant
        while let change = zone.transition(after: earlier), change.instant <= until {
            lines.append("\(change.text) in between, and then show \(zone.local(at: change.instant))")
            earlier = change.instant
        }
        return lines
    }

    private var window: String {
        hours.startHour == hours.endHour
            ? "since the hours from \(hours.startHour) to \(hours.endHour) are none"
            : "by the hours from \(hours.startHour) to \(hours.endHour)"
    }
}
