import BellhopRules
import CLI
import Pipeline
import ServiceRuntime
import Settings

/// The command `bellhop quiet`.
///
/// It evaluates only the rule of quiet hours, without servers.
enum QuietCommand: Command {
    static let name = "quiet"
    static let summary = "Checks whether an instant falls in quiet hours, and when they end."
    static let synopsis = ["quiet --start H --end H --timezone Z --at INSTANT [--json]"]
    static let options = [
        Option.taking("start", "H", "first quiet hour, 0 to 23"),
        Option.taking("end", "H", "first hour after them, 0 to 23; the same as --start: never quiet"),
        Option.taking("timezone", "Z", "whose clocks count, such as Europe/Oslo"),
        Option.taking("at", "INSTANT", "the instant, such as 2026-03-29T00:30:00Z"),
        Option.json,
    ]

    static func run(_ call: Call) async throws -> ExitCode {
        let words = call.words
        try words.expectNoOperands()
        let (start, end) = (try words.requiredHour("start"), try words.requiredHour("end"))
        let name: TimeZoneName = try words.required("timezone")
        let instant = try words.required("at", Timestamp.rule, Timestamp.init(validating:))
        let zone = try ZoneLibrary(environment: call.shell.environment).zone(name, for: words)
        let hours = QuietHours(enabled: true, startHour: start, endHour: end)
        let until = hours.until(instant, in: zone)
        call.answer(
            .members([("quiet", .bool(until != nil)), ("until", .optional(until?.description))]),
            lines: lines(instant, hours, zone, until)
        )
        return .done
    }

    private static func lines(_ instant: Timestamp, _ hours: QuietHours, _ zone: Zone, _ until: Timestamp?) -> [String]
    {
        let present = "it is \(zone.local(at: instant)) in \(zone.name)"
        let span = "the hours from \(hours.startHour) to \(hours.endHour)"
        let window = hours.startHour == hours.endHour ? "since \(span) are none" : "by \(span)"
        guard let until else { return ["\(present): not quiet, \(window)"] }
        var lines = ["\(present): quiet, \(window)", "until \(zone.local(at: until)), which is \(until)"]
        var earlier = instant
        while let change = zone.transition(after: earlier), change.instant <= until {
            lines.append("\(change.text) in between, and then show \(zone.local(at: change.instant))")
            earlier = change.instant
        }
        return lines
    }
}
