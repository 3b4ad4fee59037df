import Settings

/// The words that a command accepts, derived from its usage text.
struct CommandWords {
    /// The values that an option accepts.
    enum Value: Equatable {
        case file
        case words([String])
        /// A value that completion cannot suggest, such as a number or a name.
        case anything
    }

    let command: any Command.Type

    /// The words that may follow the command's name, such as `apply` and `check` of `topology`, and `[list]` of `hold`.
    var verbs: [String] {
        command.synopsis.reduce(into: []) { verbs, usage in
            let words = usage.split(separator: " ")
            guard words.count > 1 else { return }
            let isOptional = words[1].hasPrefix("[") && words[1].hasSuffix("]")
            let word = isOptional ? words[1].dropFirst().dropLast() : words[1]
            guard !word.isEmpty, Self.isWord(word), !verbs.contains(String(word)) else { return }
            verbs.append(String(word))
        }
    }

    /// Whether the command's operands are files.
    var takesFiles: Bool {
        command.synopsis.contains { usage in
            usage.split(separator: " ").contains { $0 == "FILE" || $0.hasPrefix("FILE|") }
        }
    }

    /// The command's options with the values that they accept, or `nil` for a switch.
    var options: [(option: Option, value: Value?)] {
        command.options.map { option in (option, option.value.map(Self.value)) }
    }

    /// Returns the values of a setting that is given as a flag.
    static func value(of setting: Setting) -> Value {
        let files = [Setting.config, .catalogs, .providers, .signIn, .jwtKeys, .operators]
        return files.contains(setting) || setting.name.hasSuffix("_FILE") ? .file : .anything
    }

    /// Returns the kind of value that a placeholder in a usage text stands for: `FILE`, `apns|fcm`, `N`.
    private static func value(_ placeholder: String) -> Value {
        if placeholder == "FILE" { return .file }
        let words = placeholder.split(separator: "|")
        return words.count > 1 && words.allSatisfy(isWord) ? .words(words.map(String.init)) : .anything
    }

    private static func isWord(_ word: Substring) -> Bool {
        word.utf8.allSatisfy { "abcdefghijklmnopqrstuvwxyz-".utf8.contains($0) } && word.first != "-"
    }
}
