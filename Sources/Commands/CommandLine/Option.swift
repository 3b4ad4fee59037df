/// A `--name` that one command understands, beside the settings that all of them do.
struct Option: Sendable {
    let name: String
    /// What stands for the value in the usage text; nil for a switch.
    let value: String?
    let help: String

    static func taking(_ name: String, _ value: String, _ help: String) -> Option {
        Option(name: name, value: value, help: help)
    }

    static func `switch`(_ name: String, _ help: String) -> Option {
        Option(name: name, value: nil, help: help)
    }

    static let json = Option.switch("json", "print JSON on stdout and nothing else")
}
