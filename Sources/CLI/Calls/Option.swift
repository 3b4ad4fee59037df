/// A `--name` that one command accepts, in addition to the settings that all commands accept.
package struct Option: Sendable {
    package let name: String
    /// The placeholder of the value in the usage text, or `nil` for a switch.
    package let value: String?
    package let help: String
    /// Whether the option may be given more than once.
    ///
    /// Otherwise a second one is a usage error.
    package let isRepeatable: Bool

    package init(name: String, value: String?, help: String, isRepeatable: Bool = false) {
        self.name = name
        self.value = value
        self.help = help
        self.isRepeatable = isRepeatable
    }

    package static func taking(_ name: String, _ value: String, _ help: String, isRepeatable: Bool = false) -> Option {
        Option(name: name, value: value, help: help, isRepeatable: isRepeatable)
    }

    package static func `switch`(_ name: String, _ help: String) -> Option {
        Option(name: name, value: nil, help: help)
    }

    package static let watch = Option.switch("watch", "refresh every two seconds until Ctrl-C")
    package static let untilStdinEnds = Option.switch(
        "until-stdin-ends",
        "drain when stdin closes, so that it cannot outlive its supervisor"
    )
    package static let json = Option.switch("json", "print JSON only")
}
