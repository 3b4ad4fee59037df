import Foundation
import ServiceRuntime

/// How a role says in its log that it cannot go on, before it has a logger, or after.
///
/// Who asked for a log of JSON reads every line as JSON, and who runs several workers on one stream has to see which of
/// them said a line. Any other fault is a plain line, as of every command.
struct RoleLog {
    private let settings: LogSettings
    private let role: String
    /// Its number among several.
    private let number: Int?

    /// Nil where the fault is a plain line; reads the words itself, since they may be the fault.
    init?(_ command: any Command.Type, _ words: [String], _ environment: [String: String]) {
        guard command.isRole else { return nil }
        let parsed = try? Words(words, options: command.options, of: command.name)
        role = command.name
        number = parsed?.value("number").flatMap { Int($0) }
        settings = .asked(flags: parsed?.settings ?? [:], environment: environment)
        if settings.form == .text, number == nil { return nil }
    }

    /// One line of the log for each fault.
    func lines(_ failure: Failure, time: Instant = SystemTime().now()) -> [String] {
        failure.text.split(separator: "\n").map { fault in
            var fields = LogFields()
            fields["worker"] = number.map(LogValue.integer)
            fields["error"] = .text(String(fault))
            fields["exit"] = .integer(Int(failure.exitCode.rawValue))
            let record = LogRecord(
                time: time,
                level: .error,
                label: role,
                process: getpid(),
                message: "cannot go on",
                fields: fields
            )
            return String(settings.form.line(for: record).dropLast())
        }
    }
}
