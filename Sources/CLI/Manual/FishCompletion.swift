import Settings

/// Completion for fish, with one line for each possible word.
enum FishCompletion {
    static func script(_ commands: [CommandWords]) -> String {
        let lead = ["# fish completion for bellhop, made by: bellhop completions fish", "complete -c bellhop -f"]
        return (lead + commands.flatMap(lines) + settings).joined(separator: "\n")
    }

    private static func lines(_ words: CommandWords) -> [String] {
        let names = [words.command.name, words.command.alias].compactMap { $0 }
        let inside = "complete -c bellhop -n \(quoted("__fish_seen_subcommand_from \(names.joined(separator: " "))"))"
        var lines = [
            "complete -c bellhop -n __fish_use_subcommand -a \(words.command.name) -d \(quoted(words.command.summary))"
        ]
        if !words.verbs.isEmpty { lines.append("\(inside) -a \(quoted(words.verbs.joined(separator: " ")))") }
        if words.takesFiles { lines.append("\(inside) -F") }
        lines += words.options.map { option, value in
            "\(inside) -l \(option.name)\(value.map(taking) ?? "") -d \(quoted(option.help))"
        }
        return lines
    }

    private static var settings: [String] {
        Setting.spellings.map { setting in
            let value = taking(CommandWords.value(of: setting))
            return "complete -c bellhop -n 'not __fish_use_subcommand' -l \(setting.flagName)\(value)"
                + " -d \(setting.environmentName)"
        }
    }

    private static func taking(_ value: CommandWords.Value) -> String {
        switch value {
        case .file: " -r -F"
        case .words(let words): " -x -a \(quoted(words.joined(separator: " ")))"
        case .anything: " -x"
        }
    }

    private static func quoted(_ text: String) -> String {
        "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
    }
}
