import BellhopRules
import CLI
import Pipeline
import ServiceRuntime
import Settings

/// The command `bellhop next-run`.
///
/// It evaluates only the schedule rule of reminders and digests, without servers.
enum NextRunCommand: Command {
    static let name = "next-run"
    static let summary = "Computes the next occurrences of a local time, across clock changes."
    static let synopsis = [
        "next-run --local HH:MM --timezone Z --after INSTANT [--days mon,tue] [--count N] [--json]"
    ]
    static let options = [
        Option.taking("local", "HH:MM", "the time on the user's clock"),
        Option.taking("timezone", "Z", "whose clocks count, such as Europe/Oslo"),
        Option.taking("after", "INSTANT", "later than this, such as 2026-03-28T12:00:00Z"),
        Option.taking("days", "mon,tue", "on these days of the week; all of them without it"),
        Option.taking("count", "N", "so many runs, 1 to 1000; one without it"),
        Option.json,
    ]

    static func run(_ call: Call) async throws -> ExitCode {
        let words = call.words
        try words.expectNoOperands()
        let time = try words.required("local", LocalTime.rule, LocalTime.init(validating:))
        let name: TimeZoneName = try words.required("timezone")
        let after = try words.required("after", Timestamp.rule, Timestamp.init(validating:))
        let days = try words.days()
        let count = try words.number("count", in: 1...1000) ?? 1
        let zone = try ZoneLibrary(environment: call.shell.environment).zone(name, for: words)
        let runs = runs(LocalSchedule(at: time, on: days, in: zone), after, count)
        call.answer(
            .members([("runs", .array(runs.map { .string($0.instant.description) }))]),
            lines: runs.isEmpty ? ["never again before the year 9999 ends"] : runs.map { line($0, zone) }
        )
        return runs.isEmpty ? .answerIsNo : .done
    }

    private static func runs(_ schedule: LocalSchedule, _ after: Timestamp, _ count: Int) -> [LocalSchedule.Slot] {
        var runs: [LocalSchedule.Slot] = []
        var earlier = after
        while runs.count < count, let next = schedule.next(after: earlier) {
            runs.append(next)
            earlier = next.instant
        }
        return runs
    }

    /// Returns weekday, local time and UTC, with a note if a clock change affects that time.
    private static func line(_ run: LocalSchedule.Slot, _ zone: Zone) -> String {
        let local = zone.local(at: run.instant)
        let line = "\(local.date.weekday.rawValue) \(local)  \(run.instant)"
        switch zone.instants(showing: run.date, at: run.time).count {
        case 0:
            return
                "\(line)  there is no \(run.time) on \(run.date): the clocks skip it, this is the first instant after"
        case 1: return line
        default: return "\(line)  \(run.time) comes twice on \(run.date): the clocks go back, this is the first one"
        }
    }
}
