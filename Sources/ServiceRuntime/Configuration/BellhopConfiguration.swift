/// Everything that is configured, checked once at start; a value of it is always sound.
package struct BellhopConfiguration: Sendable {
    /// Default: none; `amqp://` or `amqps://`.
    package let amqpURL: Secret?
    /// Default: none; a libpq URL.
    package let databaseURL: Secret?
    /// Default: `bellhop`.
    package let namespace: Namespace
    /// A folder of catalogue files.
    ///
    /// Default: none.
    package let catalogs: String?
    /// A file: per app and provider, endpoints, keys, budgets.
    ///
    /// Default: none.
    package let providers: String?
    /// Default: `127.0.0.1:8080`.
    package let apiListen: ListenAddress
    /// Default: `127.0.0.1:8081`.
    package let consoleListen: ListenAddress
    /// Where browsers find the console, where that is not the address that it listens on.
    ///
    /// Default: none.
    package let consoleOrigin: WebOrigin?
    /// The base; processes of a pool stand above it.
    ///
    /// Default: `127.0.0.1:9464`.
    package let metricsListen: ListenAddress
    /// RabbitMQ's management API.
    ///
    /// Default: none, and what AMQP cannot tell stays unknown.
    package let managementURL: Secret?
    /// For LISTEN, where the main URL goes through a pooler.
    ///
    /// Default: the database's URL.
    package let listenURL: Secret?
    /// A JWKS file for the inbox API.
    ///
    /// Default: none.
    package let jwtKeys: String?
    /// Whom the tokens of the inbox API must be for (`aud`).
    ///
    /// Default: `bellhop`.
    package let jwtAudience: String
    /// Who must have issued them (`iss`).
    ///
    /// Default: none, and any issuer whose key is in the set will do.
    package let jwtIssuer: String?
    /// The web origins whose pages may call the inbox API.
    ///
    /// Default: none.
    package let apiOrigins: [WebOrigin]
    /// How often the inbox API may be called.
    ///
    /// Default: ``CallRates/usual``.
    package let apiRate: CallRates
    /// Proxies whose word counts for whom a call comes from.
    ///
    /// Default: none.
    package let apiProxies: [AddressRange]
    /// Connections that the inbox API has open at most.
    ///
    /// Default: ``ConnectionLimits/usual``.
    package let apiConnections: ConnectionLimits
    /// A file of console and desk users.
    ///
    /// Default: none.
    package let operators: String?
    /// The retry tiers, rising.
    ///
    /// Default: `10s,30s,2m,10m,1h`.
    package let retryDelays: [Duration]
    /// Attempts before the dead-letter queue.
    ///
    /// Default: 8.
    package let retryLimit: Int
    /// Default: 1024 a lane, 256 for the urgent one.
    package let prefetch: Prefetch
    /// Events that a worker takes through the pipeline at once.
    ///
    /// Default: 256.
    package let batch: Int
    /// From SIGTERM to the cancellation of what is still running.
    ///
    /// Default: 20 s.
    package let drainTimeout: Duration
    /// How long a worker's claim on a delivery holds before another may take it over.
    ///
    /// Default: 60 s.
    package let lease: Duration
    /// Notifications that one scheduler hands over in a second at most, when much has fallen due.
    ///
    /// Default: 1,000.
    package let handOverRate: Int
    /// How long after their first failure dead letters may be replayed: the guard against doubles must remember so long.
    ///
    /// Default: 30 days.
    package let replayHorizon: Duration
    /// How long before its first failure a dead letter's event may have been recorded, by the retries that are set.
    package let replayLead: Duration
    /// How long dead letters are kept that nobody waits for any more.
    ///
    /// Default: none, and nothing is ever deleted.
    package let deadLetterRetention: DeadLetterRetention?
    /// How long everything else is kept that has ended.
    ///
    /// Default: ``Retention/usual``.
    package let retention: Retention
    /// When silent devices are ended; nil for never.
    ///
    /// Default: at three at night, after 90 days of silence.
    package let staleDevices: StaleDevices?
    /// From when on an event for a wider audience that nobody has expanded is closed.
    ///
    /// Default: 24 hours after it was due.
    package let wideEventAge: Duration
    /// Default: `info`, for people.
    package let log: LogSettings
    /// Every setting as it took effect, in the order of `Setting.all`.
    package let effective: [ConfigurationReader.Effective]

    /// The listing of `bellhop check-config`: setting, value with secrets masked, source.
    package func describe() -> String {
        let rows = effective.map { ($0.setting.environmentName, $0.shown?.escapingControls() ?? "-", "\($0.source)") }
        let nameWidth = rows.map(\.0.count).max() ?? 0
        let valueWidth = min(60, rows.map(\.1.count).max() ?? 0)
        return rows.map { name, value, source in
            name.filled(to: nameWidth) + "  " + value.filled(to: valueWidth) + "  " + source
        }.joined(separator: "\n")
    }
}

extension String {
    fileprivate func filled(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}
