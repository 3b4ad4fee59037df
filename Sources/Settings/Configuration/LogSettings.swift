package import ServiceRuntime

/// The value of `BELLHOP_LOG`: the lowest level, and the form of the lines.
package struct LogSettings: Sendable, Equatable, CustomStringConvertible {
    package let level: LogLevel
    package let form: LogForm

    package init(level: LogLevel, form: LogForm) {
        self.level = level
        self.form = form
    }

    /// Reads `info` or `info,json`.
    package init?(_ text: String) {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        guard let level = parts.first.flatMap({ LogLevel(rawValue: String($0)) }) else { return nil }
        switch parts.count {
        case 1: self.init(level: level, form: .text)
        case 2 where parts[1] == "json": self.init(level: level, form: .json)
        default: return nil
        }
    }

    /// Returns the log settings of a configuration that may be invalid otherwise.
    ///
    /// Even if the level is unknown, the form (JSON or text) is recognised.
    package static func asked(flags: [String: String], environment: [String: String]) -> LogSettings {
        let file = flags[Setting.config.flagName] ?? environment[Setting.config.environmentName]
        var reader = ConfigurationReader(flags: flags, environment: environment, file: file)
        let usual = LogSettings(level: .info, form: .text)
        return reader.read(.log, expected: "", default: usual.description) { text in
            LogSettings(text) ?? LogSettings(level: .info, form: text.hasSuffix(",json") ? .json : .text)
        } ?? usual
    }

    package var description: String { form == .json ? "\(level.rawValue),json" : level.rawValue }

    /// Returns the logger of a process, which writes on stderr with these settings.
    package func makeLogger(label: String) -> Logger {
        Logger(label: label, level: level, sink: StandardErrorSink(form: form))
    }
}
