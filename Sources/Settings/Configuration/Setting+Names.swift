extension Setting {
    package static let config = Setting("CONFIG")
    package static let amqpURL = Setting("AMQP_URL", isSecret: true)
    package static let databaseURL = Setting("DATABASE_URL", isSecret: true)
    package static let namespace = Setting("NAMESPACE")
    package static let catalogs = Setting("CATALOGS")
    package static let providers = Setting("PROVIDERS")
    package static let apiListen = Setting("API_LISTEN")
    package static let consoleListen = Setting("CONSOLE_LISTEN")
    package static let consoleOrigin = Setting("CONSOLE_ORIGIN")
    package static let metricsListen = Setting("METRICS_LISTEN")
    package static let managementURL = Setting("MANAGEMENT_URL", isSecret: true)
    package static let listenURL = Setting("LISTEN_URL", isSecret: true)
    package static let jwtKeys = Setting("JWT_KEYS")
    package static let jwtAudience = Setting("JWT_AUDIENCE")
    package static let jwtIssuer = Setting("JWT_ISSUER")
    package static let apiOrigins = Setting("API_ORIGINS")
    package static let apiRate = Setting("API_RATE")
    package static let apiProxies = Setting("API_PROXIES")
    package static let apiConnections = Setting("API_CONNECTIONS")
    package static let operators = Setting("OPERATORS")
    package static let retryDelays = Setting("RETRY_DELAYS")
    package static let retryLimit = Setting("RETRY_LIMIT")
    package static let prefetch = Setting("PREFETCH")
    package static let batch = Setting("BATCH")
    package static let drainTimeout = Setting("DRAIN_TIMEOUT")
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
        .metricsListen, .managementURL, .listenURL, .jwtKeys, .jwtAudience, .jwtIssuer, .apiOrigins, .apiRate,
        .apiProxies,
        .apiConnections, .operators,
        .retryDelays, .retryLimit, .prefetch, .batch, .drainTimeout, .lease, .handOverRate, .replayHorizon,
        .deadLetterRetention, .retention, .staleDevices, .wideEventAge,
        .log,
    ]

    /// The settings that a command line accepts: all of them, and the `…_FILE` of each secret.
    package static let spellings: [Setting] = all + all.compactMap(\.inFile)
}
