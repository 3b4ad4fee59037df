import BellhopJSON
import ServiceRuntime

/// Reads settings from flags, environment, file and defaults, in this order, and keeps every fault.
///
/// A failed read returns `nil` and the reader continues, so that operators see all faults together.
package struct ConfigurationReader {
    /// A setting as it took effect.
    package struct Effective: Sendable, Equatable {
        package let setting: Setting
        /// The value with secrets masked; `nil` if nothing is set.
        package let shown: String?
        package let source: ConfigurationSource
    }

    /// A text with its source.
    private struct Found {
        let text: String
        let source: ConfigurationSource
        let key: String
    }

    package private(set) var faults: [ConfigurationFault] = []
    package private(set) var effective: [Effective] = []
    private let flags: [String: String]
    private let environment: [String: String]
    private let file: ConfigurationFile?
    private let required: Set<Setting>
    private let files: Set<Setting>?

    /// Creates a reader and reads the file.
    ///
    /// - Parameters:
    ///   - flags: by name without dashes: `amqp-url`.
    ///   - environment: the whole environment; only `BELLHOP_*` is read. An empty value counts as not set.
    ///   - file: path of a JSON5 file.
    ///   - required: settings whose absence is a fault.
    ///   - files: settings whose files the command reads, in addition to the required ones; `nil` means all.
    package init(
        flags: [String: String],
        environment: [String: String],
        file: String?,
        required: Set<Setting> = [],
        files: Set<Setting>? = nil
    ) {
        self.flags = flags
        self.files = files
        self.environment = environment.filter { !$0.value.isEmpty }
        self.required = required
        switch file.map(ConfigurationFile.read(path:)) {
        case .success(let file): self.file = file
        case .failure(let found):
            self.file = nil
            faults = found.faults
        case nil: self.file = nil
        }
    }

    /// Reads one setting with a custom parser.
    ///
    /// `expected` describes a valid value, for the fault. The default is a text too, so that the listing shows it in
    /// its configuration form. `parse` returns `nil` if the text is invalid.
    package mutating func read<Value>(
        _ setting: Setting,
        expected: String,
        default fallback: String? = nil,
        parse: (String) -> Value?
    ) -> Value? {
        let before = faults.count
        guard
            let found = find(setting)
                ?? fallback.map({ Found(text: $0, source: .byDefault, key: setting.environmentName) })
        else {
            // A secret file that cannot be read already has a fault.
            if required.contains(setting), faults.count == before { addMissing(setting, expected) }
            effective.append(Effective(setting: setting, shown: nil, source: .byDefault))
            return nil
        }
        let shown = setting.isSecret ? URLMask.mask(found.text) : found.text
        effective.append(Effective(setting: setting, shown: shown, source: found.source))
        if let value = parse(found.text) { return value }
        faults.append(
            ConfigurationFault(
                key: found.key,
                source: found.source,
                found: setting.isSecret ? "the value (not shown) does not fit" : "\"\(found.text)\" does not fit",
                expected: expected,
                whatToDo: "correct it"
            )
        )
        return nil
    }

    /// Whether the command reads the file that a setting names.
    func isRead(_ setting: Setting) -> Bool {
        files.map { $0.contains(setting) } ?? true || required.contains(setting)
    }

    /// Adds a fault of a setting that is valid alone but not together with the others.
    package mutating func refuse(_ setting: Setting, found: String, expected: String, _ advice: String) {
        let source = effective.last { $0.setting == setting }?.source ?? .byDefault
        addFault(setting.key(in: source), source, found, expected, advice)
    }

    /// Adds a fault for every unknown name in a source, with the nearest known name.
    ///
    /// In the environment, only names that are similar to a known one count.
    package mutating func refuseUnknownNames(known: [Setting]) {
        let all = known + known.compactMap(\.inFile)
        // The environment contains unrelated names too: Kubernetes alone sets BELLHOP_PORT for a service named bellhop.
        // But a name within two edits of a setting is a typo.
        let names = environment.keys.filter { name in
            name.hasPrefix("BELLHOP_") && NearestName.find(name, among: all.map(\.environmentName), within: 2) != nil
        }
        refuse(names, known: all.map(\.environmentName), .environment)
        refuse(flags.keys.map { "--" + $0 }, known: all.map { "--" + $0.flagName }, .flag)
        if let file {
            refuse(Array(file.values.keys), known: all.map(\.fileKey), .file(path: file.path))
        }
    }

    private mutating func refuse(_ names: [String], known: [String], _ source: ConfigurationSource) {
        for name in names.sorted() where !known.contains(name) {
            let nearest = NearestName.find(name, among: known)
            faults.append(
                ConfigurationFault(
                    key: name,
                    source: source,
                    found: "no such setting",
                    expected: "a name that Bellhop knows",
                    whatToDo: nearest.map { "did you mean \($0)?" } ?? "remove it, or see check-config for the names"
                )
            )
        }
    }

    private mutating func find(_ setting: Setting) -> Found? {
        for source in [.flag, .environment] + (file.map { [.file(path: $0.path)] } ?? []) as [ConfigurationSource] {
            let plain = text(setting, in: source)
            guard let pathSetting = setting.inFile, let path = text(pathSetting, in: source) else {
                if let plain { return Found(text: plain, source: source, key: setting.key(in: source)) }
                continue
            }
            let key = pathSetting.key(in: source)
            if plain != nil {
                addFault(key, source, "\(setting.key(in: source)) is set too", "one of the two", "remove one")
            }
            guard let secret = Self.secret(inFile: path) else {
                addFault(
                    key,
                    source,
                    "\"\(path)\" cannot be read",
                    "a readable file of text",
                    "check path and permissions"
                )
                return nil
            }
            return Found(text: secret, source: source, key: key)
        }
        return nil
    }

    private func text(_ setting: Setting, in source: ConfigurationSource) -> String? {
        switch source {
        case .flag: flags[setting.flagName]
        case .environment: environment[setting.environmentName]
        case .file: file?.values[setting.fileKey]
        case .byDefault: nil
        }
    }

    /// Returns the file's text without the one newline that editors add at its end.
    private static func secret(inFile path: String) -> String? {
        guard case .success(let bytes) = SmallFile.read(path, atMost: 1 << 16),
            var text = String(validating: bytes, as: UTF8.self), !text.isEmpty
        else { return nil }
        // Swift treats a carriage return and a newline as one character.
        if text.last?.isNewline ?? false { text.removeLast() }
        return text
    }

    private mutating func addMissing(_ setting: Setting, _ expected: String) {
        let alternative = setting.inFile.map { " or \($0.environmentName)" } ?? ""
        addFault(
            setting.environmentName,
            .environment,
            "not set",
            expected,
            "set it\(alternative), or pass --\(setting.flagName)"
        )
    }

    private mutating func addFault(
        _ key: String,
        _ source: ConfigurationSource,
        _ found: String,
        _ expected: String,
        _ advice: String
    ) {
        faults.append(
            ConfigurationFault(key: key, source: source, found: found, expected: expected, whatToDo: advice)
        )
    }
}
