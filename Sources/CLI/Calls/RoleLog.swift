import Foundation
package import ServiceRuntime
import Settings

/// Writes the fault that ends a role as log lines, before the role has a logger or after.
///
/// A collector of JSON logs parses every line as JSON, and a reader of several workers' output has to see which worker
/// wrote a line. In all other cases the fault is a plain line, as for every other command.
package struct RoleLog {
    private let settings: LogSettings
    private let role: String
    /// The worker's number among several.
    private let number: Int?

    /// Parses the words independently, since they may be the fault.
    ///
    /// It is `nil` if the fault is written as a plain line.
    package init?(_ command: any Command.Type, _ words: [String], _ environment: [String: String]) {
        guard command.isRole else { return nil }
        let parsed = try? Words(words, options: command.options, of: command.name)
        role = command.name
        number = parsed?.value("number").flatMap { Int($0) }
        settings = .asked(flags: parsed?.settings ?? [:], environment: environment)
        if settings.form == .text, number == nil { return nil }
    }

    /// Returns one log line for each fault.
    package func lines(_ failure: Failure, time: Instant = SystemTime().now()) -> [String] {
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
