/// A `--name` that one command accepts, in addition to the settings that all commands accept.
struct Option: Sendable {
    let name: String
    /// The placeholder of the value in the usage text, or `nil` for a switch.
    let value: String?
    let help: String
    /// Whether the option may be given more than once.
    ///
    /// Otherwise a second one is a usage error.
    var isRepeatable = false

    static func taking(_ name: String, _ value: String, _ help: String, isRepeatable: Bool = false) -> Option {
        Option(name: name, value: value, help: help, isRepeatable: isRepeatable)
    }

    static func `switch`(_ name: String, _ help: String) -> Option {
        Option(name: name, value: nil, help: help)
    }

    static let watch = Option.switch("watch", "refresh every two seconds until Ctrl-C")
    static let untilStdinEnds = Option.switch(
        "until-stdin-ends",
        "drain when stdin closes, so that it cannot outlive its supervisor"
    )
    static let json = Option.switch("json", "print JSON only")
}
