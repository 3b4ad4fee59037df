import Settings

/// Completion for bash.
///
/// It has two tables: the words after a command, and the words after an option.
enum BashCompletion {
    static func script(_ commands: [CommandWords]) -> String {
        let names = commands.map { $0.command.name }.joined(separator: " ")
        let options = commands.map { Self.options(of: $0) }.joined(separator: "\n")
        let values = commands.flatMap { Self.values(of: $0) }.joined(separator: "\n")
        let operands = commands.flatMap { Self.operands(of: $0) }.joined(separator: "\n")
        return """
            # bash completion for bellhop, made by: bellhop completions bash
            _bellhop() {
                local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} words=
                COMPREPLY=()
                if ((COMP_CWORD == 1)); then
                    words="\(names) help version"
                elif [[ $current == -* ]]; then
                    case "${COMP_WORDS[1]}" in
            \(options)
                    esac
                    words+=" --help \(settings)"
                else
                    case "${COMP_WORDS[1]} $previous" in
            \(values)
                        *" --"*) ;;
                        *) _bellhop_operand ;;
                    esac
                fi
                # shellcheck disable=SC2207
                COMPREPLY+=($(compgen -W "$words" -- "$current"))
            }

            # What is no option: a verb of the command, or a file.
            _bellhop_operand() {
                case "${COMP_WORDS[1]} $COMP_CWORD" in
            \(operands)
                esac
            }

            # shellcheck disable=SC2207
            _bellhop_files() {
                compopt -o filenames 2>/dev/null
                COMPREPLY+=($(compgen -f -- "$current"))
            }

            complete -F _bellhop bellhop
            """
    }

    private static var settings: String {
        Setting.spellings.map { "--\($0.flagName)" }.joined(separator: " ")
    }

    private static func options(of words: CommandWords) -> String {
        let options = words.options.map { "--\($0.option.name)" }.joined(separator: " ")
        return "            \(pattern(words)) words=\"\(options)\" ;;"
    }

    /// Returns the cases for options with a value.
    ///
    /// After a switch, an operand follows.
    private static func values(of words: CommandWords) -> [String] {
        let settings = Setting.spellings.map { (name: $0.flagName, value: CommandWords.value(of: $0)) }
        let options = words.options.compactMap { option, value in value.map { (name: option.name, value: $0) } }
        let switches = words.options.filter { $0.value == nil }.map(\.option.name)
        let lines = (options + settings).compactMap { name, value in
            action(value).map { line(words, " --\(name)\"", $0) }
        }
        return lines + switches.map { line(words, " --\($0)\"", "_bellhop_operand") }
    }

    private static func action(_ value: CommandWords.Value) -> String? {
        switch value {
        case .file: "_bellhop_files"
        case .words(let some): "words=\"\(some.joined(separator: " "))\""
        case .anything: nil
        }
    }

    private static func operands(of words: CommandWords) -> [String] {
        let verbs = words.verbs.joined(separator: " ")
        let first = verbs.isEmpty ? [] : [line(words, " 2\"", "words=\"\(verbs)\"")]
        return first + (words.takesFiles ? [line(words, " \"*", "_bellhop_files")] : [])
    }

    /// Returns one branch of a `case`: a word after the command's name or its alias.
    private static func line(_ words: CommandWords, _ rest: String, _ action: String) -> String {
        let patterns = names(of: words).map { "\"\($0)\(rest)" }
        return "            \(patterns.joined(separator: " | "))) \(action) ;;"
    }

    private static func pattern(_ words: CommandWords) -> String {
        names(of: words).joined(separator: " | ") + ")"
    }

    private static func names(of words: CommandWords) -> [String] {
        [words.command.name, words.command.alias].compactMap { $0 }
    }
}
