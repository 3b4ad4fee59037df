/// The name of one setting, with its spelling in each source.
package struct Setting: Sendable, Hashable {
    /// The name without the prefix: `AMQP_URL`.
    package let name: String
    /// Whether the value may contain a password: it is shown masked, and may be read from `NAME_FILE` too.
    package let isSecret: Bool

    package init(_ name: String, isSecret: Bool = false) {
        self.name = name
        self.isSecret = isSecret
    }

    /// The name in the environment, `BELLHOP_AMQP_URL`.
    package var environmentName: String { "BELLHOP_" + name }

    /// The flag `amqp-url`, written `--amqp-url` on a command line.
    package var flagName: String { name.lowercased().replacing("_", with: "-") }

    /// The key in the file, `amqpUrl`.
    package var fileKey: String {
        let words = name.lowercased().split(separator: "_")
        return words.dropFirst().reduce(words.first.map(String.init) ?? "") {
            $0 + $1.prefix(1).uppercased() + $1.dropFirst()
        }
    }

    /// The setting that names a file with this setting's value; only secrets have one.
    package var inFile: Setting? {
        isSecret ? Setting(name + "_FILE") : nil
    }

    /// Returns this setting's spelling in a source, for faults.
    func key(in source: ConfigurationSource) -> String {
        switch source {
        case .flag: "--" + flagName
        case .environment, .byDefault: environmentName
        case .file: fileKey
        }
    }
}
