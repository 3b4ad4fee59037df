import ServiceRuntime
import Settings

/// A manual page in the language of `man`, generated from the commands' descriptions.
struct ManualPage {
    /// The name by which `man` finds the page, such as `bellhop-worker`.
    let name: String
    private(set) var text: String

    /// Makes the program's page: all commands, the settings and the exit codes.
    static func overview(of commands: [any Command.Type]) -> ManualPage {
        var page = ManualPage("bellhop", "deliver notifications from RabbitMQ to apps and devices")
        page.section("synopsis", [".B bellhop", ".I COMMAND", "[\\fIOPTION\\fR]..."])
        page.section("commands")
        for command in commands {
            page.item("bellhop-\(command.name)(1)", text: command.summary)
        }
        page.section(
            "environment",
            escaped("A flag wins over the environment, the environment over the file that BELLHOP_CONFIG names. ")
                + escaped(
                    "bellhop check-config shows the effective settings; /usr/share/doc/bellhop/reference.md explains each."
                )
        )
        for setting in Setting.all {
            let files = setting.inFile.map { "or \($0.environmentName), a file that holds it; " } ?? ""
            page.item(setting.environmentName, text: "\(files)as a flag --\(setting.flagName)")
        }
        page.addExitStatus()
        return page
    }

    /// Creates the page of one command.
    init(of command: any Command.Type) {
        self.init("bellhop-\(command.name)", command.summary)
        section("synopsis")
        for usage in command.synopsis {
            text += ".PP\n.B bellhop\n\(Self.escaped(usage))\n"
        }
        section("description", Self.escaped(command.summary))
        if let alias = command.alias { text += Self.escaped("bellhop \(alias) is the same.") + "\n" }
        if !command.options.isEmpty { section("options") }
        for option in command.options {
            item("--\(option.name)", placeholder: option.value, text: option.help)
        }
        section("settings", Self.escaped("Every setting of bellhop(1) can be a flag here, BELLHOP_LOG as --log."))
        addExitStatus()
        section("see also", ".BR bellhop (1)")
    }

    private init(_ name: String, _ summary: String) {
        self.name = name
        let title = Self.escaped(name.uppercased())
        text = ".TH \"\(title)\" 1 \"\" \"Bellhop\" \"Bellhop\"\n"
        section("name", "\(Self.escaped(name)) \\- \(Self.escaped(summary))")
    }

    private mutating func section(_ title: String, _ lines: String...) {
        section(title, lines)
    }

    private mutating func section(_ title: String, _ lines: [String]) {
        text += ".SH \(title.uppercased())\n"
        for line in lines { text += line + "\n" }
    }

    private mutating func item(_ term: String, placeholder: String? = nil, text words: String) {
        let value = placeholder.map { " \\fI\(Self.escaped($0))\\fR" } ?? ""
        text += ".TP\n\\fB\(Self.escaped(term))\\fR\(value)\n\(Self.escaped(words))\n"
    }

    private mutating func addExitStatus() {
        section("exit status")
        for code in ExitCode.allCases { item(String(code.rawValue), text: code.meaning) }
    }

    /// Escapes a text, so that `man` interprets no character of it as a request.
    static func escaped(_ text: String) -> String {
        var escaped = ""
        for character in text {
            switch character {
            case "\\": escaped += "\\e"
            case "-": escaped += "\\-"
            case "'": escaped += "\\(aq"
            case "\n": escaped += " "
            default: escaped.append(character)
            }
        }
        return escaped.hasPrefix(".") ? "\\&" + escaped : escaped
    }
}

extension ExitCode {
    /// A short description for people.
    var meaning: String {
        switch self {
        case .done: "It did what was asked."
        case .answerIsNo: "It ran, and the answer is no: a check failed, nothing matched."
        case .usage: "The command line is wrong."
        case .badInput: "The input is invalid."
        case .unavailable: "The broker or the database cannot be reached."
        case .bug: "A bug."
        case .tryAgain: "It did not work this time; a repeat may."
        case .configuration: "The configuration, the schema or the topology is wrong."
        }
    }
}
