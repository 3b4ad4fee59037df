import Settings

/// Completion for zsh, with a description of each command and option.
enum ZshCompletion {
    static func script(_ commands: [CommandWords]) -> String {
        let names = commands.map { "        \(quoted("\($0.command.name):\($0.command.summary)"))" }
        return """
            #compdef bellhop
            # zsh completion for bellhop, made by: bellhop completions zsh
            _bellhop() {
                local -a commands settings
                commands=(
            \(names.joined(separator: "\n"))
                )
                settings=(
            \(settings.joined(separator: "\n"))
                )
                if (( CURRENT == 2 )); then
                    _describe -t commands command commands
                    return
                fi
                local command=$words[2]
                shift words
                (( CURRENT-- ))
                case $command in
            \(commands.map(arguments).joined(separator: "\n"))
                esac
            }

            if [[ $funcstack[1] == _bellhop ]]; then _bellhop "$@"; else compdef _bellhop bellhop; fi
            """
    }

    private static var settings: [String] {
        Setting.spellings.map { setting in
            let taken = action(CommandWords.value(of: setting))
            return "        " + quoted("--\(setting.flagName)[\(setting.environmentName)]:value:\(taken)")
        }
    }

    private static func arguments(_ words: CommandWords) -> String {
        var lines = words.options.map { option, value in
            let taken = value.map { ":\(described(option.value ?? "")):\(action($0))" } ?? ""
            return quoted("*--\(option.name)[\(described(option.help))]\(taken)")
        }
        if !words.verbs.isEmpty { lines.append(quoted("1:verb:(\(words.verbs.joined(separator: " ")))")) }
        if words.takesFiles { lines.append(quoted("*:file:_files")) }
        let pattern = [words.command.name, words.command.alias].compactMap { $0 }.joined(separator: "|")
        return "        \(pattern))\n            _arguments \"${settings[@]}\""
            + lines.map { " \\\n                \($0)" }.joined() + "\n            ;;"
    }

    private static func action(_ value: CommandWords.Value) -> String {
        switch value {
        case .file: "_files"
        case .words(let words): "(\(words.joined(separator: " ")))"
        case .anything: " "
        }
    }

    /// Escapes the characters that belong to the grammar of `_arguments`.
    private static func described(_ text: String) -> String {
        text.reduce(into: "") { $0 += "[]:\\".contains($1) ? "\\\($1)" : String($1) }
    }

    private static func quoted(_ text: String) -> String {
        "'" + text.replacing("'", with: "'\\''") + "'"
    }
}
