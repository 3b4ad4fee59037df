/// One name of the configuration, in the three spellings of its sources.
package struct Setting: Sendable, Hashable {
    /// Without the prefix: `AMQP_URL`.
    package let name: String
    /// True for what may hold a password: shown masked, and taken from `NAME_FILE` too.
    package let isSecret: Bool

    package init(_ name: String, isSecret: Bool = false) {
        self.name = name
        self.isSecret = isSecret
    }

    /// The name in the environment, `BELLHOP_AMQP_URL`.
    package var environmentName: String { "BELLHOP_" + name }

    /// `amqp-url`, written `--amqp-url` on a command line.
    package var flagName: String { name.lowercased().replacing("_", with: "-") }

    /// The key in the file, `amqpUrl`.
    package var fileKey: String {
        let words = name.lowercased().split(separator: "_")
        return words.dropFirst().reduce(words.first.map(String.init) ?? "") {
            $0 + $1.prefix(1).uppercased() + $1.dropFirst()
        }
    }

    /// The setting that names a file with this one's value; only secrets have one.
    package var inFile: Setting? {
        isSecret ? Setting(name + "_FILE") : nil
    }

    /// This setting's spelling in a source, for faults.
    func key(in source: ConfigurationSource) -> String {
        switch source {
        case .flag: "--" + flagName
        case .environment, .byDefault: environmentName
        case .file: fileKey
        }
    }
}
