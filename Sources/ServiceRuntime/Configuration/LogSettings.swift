/// What `BELLHOP_LOG` says: from which level on, and in which form.
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

    /// What a configuration asks of the log although something else in it may be wrong.
    ///
    /// Even a level that does not exist leaves it plain whether the lines are to be JSON.
    package static func asked(flags: [String: String], environment: [String: String]) -> LogSettings {
        let file = flags[Setting.config.flagName] ?? environment[Setting.config.environmentName]
        var reader = ConfigurationReader(flags: flags, environment: environment, file: file)
        let usual = LogSettings(level: .info, form: .text)
        return reader.read(.log, expected: "", default: usual.description) { text in
            LogSettings(text) ?? LogSettings(level: .info, form: text.hasSuffix(",json") ? .json : .text)
        } ?? usual
    }

    package var description: String {
        form == .json ? "\(level.rawValue),json" : level.rawValue
    }

    /// The logger of a process: on stderr, as these settings say.
    package func makeLogger(label: String) -> Logger {
        Logger(label: label, level: level, sink: StandardErrorSink(form: form))
    }
}
