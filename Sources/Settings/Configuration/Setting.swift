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
    package var inFile: Setting? { isSecret ? Setting(name + "_FILE") : nil }

    /// Returns this setting's spelling in a source, for faults.
    func key(in source: ConfigurationSource) -> String {
        switch source {
        case .flag: "--" + flagName
        case .environment, .byDefault: environmentName
        case .file: fileKey
        }
    }

    package static let config = Setting("CONFIG")
    package static let amqpURL = Setting("AMQP_URL", isSecret: true)
    package static let databaseURL = Setting("DATABASE_URL", isSecret: true)
    package static let namespace = Setting("NAMESPACE")
    package static let catalogs = Setting("CATALOGS")
    package static let providers = Setting("PROVIDERS")
    package static let apiListen = Setting("API_LISTEN")
    package static let consoleListen = Setting("CONSOLE_LISTEN")
    package static let consoleOrigin = Setting("CONSOLE_ORIGIN")
    package static let docsURL = Setting("DOCS_URL")
    package static let metricsListen = Setting("METRICS_LISTEN")
    package static let managementURL = Setting("MANAGEMENT_URL", isSecret: true)
    package static let listenURL = Setting("LISTEN_URL", isSecret: true)
    package static let relayURL = Setting("RELAY_URL", isSecret: true)
    package static let signIn = Setting("SIGN_IN")
    package static let jwtKeys = Setting("JWT_KEYS")
    package static let jwtAudience = Setting("JWT_AUDIENCE")
    package static let jwtIssuer = Setting("JWT_ISSUER")
    package static let apiOrigins = Setting("API_ORIGINS")
    package static let apiRate = Setting("API_RATE")
    package static let apiProxies = Setting("API_PROXIES")
    package static let apiConnections = Setting("API_CONNECTIONS")
    package static let operators = Setting("OPERATORS")
    package static let publishers = Setting("PUBLISHERS")
    package static let retryDelays = Setting("RETRY_DELAYS")
    package static let retryLimit = Setting("RETRY_LIMIT")
    package static let prefetch = Setting("PREFETCH")
    package static let batch = Setting("BATCH")
    package static let drainTimeout = Setting("DRAIN_TIMEOUT")
    package static let hangTimeout = Setting("HANG_TIMEOUT")
    package static let lease = Setting("LEASE")
    package static let handOverRate = Setting("HANDOVER_RATE")
    package static let replayHorizon = Setting("REPLAY_HORIZON")
    package static let deadLetterRetention = Setting("DEAD_LETTER_RETENTION")
    package static let retention = Setting("RETENTION")
    package static let staleDevices = Setting("STALE_DEVICES")
    package static let wideEventAge = Setting("WIDE_EVENT_AGE")
    package static let log = Setting("LOG")

    /// Every known setting.
    ///
    /// An unknown flag or key of the file is a fault, and so is a similar `BELLHOP_*` name.
    package static let all: [Setting] = [
        .config, .amqpURL, .databaseURL, .namespace, .catalogs, .providers, .apiListen, .consoleListen, .consoleOrigin,
        .docsURL, .metricsListen, .managementURL, .listenURL, .relayURL, .signIn, .jwtKeys, .jwtAudience, .jwtIssuer,
        .apiOrigins,
        .apiRate,
        .apiProxies,
        .apiConnections, .operators, .publishers,
        .retryDelays, .retryLimit, .prefetch, .batch, .drainTimeout, .hangTimeout, .lease, .handOverRate,
        .replayHorizon, .deadLetterRetention, .retention, .staleDevices, .wideEventAge,
        .log,
    ]

    /// The settings whose files most commands read.
    package static let usualFiles: Set<Setting> = [.catalogs, .providers]

    /// The settings whose files the inbox API reads as well.
    package static let filesOfAPI: Set<Setting> = [.signIn, .jwtKeys, .publishers]

    /// The settings that a command line accepts: all of them, and the `…_FILE` of each secret.
    package static let spellings: [Setting] = all + all.compactMap(\.inFile)
}
