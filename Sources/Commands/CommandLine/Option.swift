/// A `--name` that one command understands, beside the settings that all of them do.
struct Option: Sendable {
    let name: String
    /// What stands for the value in the usage text; nil for a switch.
    let value: String?
    let help: String
    /// Whether it may be given more than once; else the second one is a misunderstanding.
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
