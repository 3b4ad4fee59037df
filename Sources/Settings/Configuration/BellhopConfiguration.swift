package import ServiceRuntime

/// The whole configuration, checked once at start; every instance is valid.
package struct BellhopConfiguration: Sendable {
    /// The broker's URL: `amqp://` or `amqps://`.
    ///
    /// Default: none.
    package let amqpURL: Secret?
    /// The database's URL, in libpq's form.
    ///
    /// Default: none.
    package let databaseURL: Secret?
    /// The namespace of the installation.
    ///
    /// Default: `bellhop`.
    package let namespace: Namespace
    /// A folder of catalogue files.
    ///
    /// Default: none.
    package let catalogs: String?
    /// A file with the endpoints, keys and budgets of each app and provider.
    ///
    /// Default: none.
    package let providers: String?
    /// The address of the inbox API.
    ///
    /// Default: `127.0.0.1:8080`.
    package let apiListen: ListenAddress
    /// The address of the console.
    ///
    /// Default: `127.0.0.1:8081`.
    package let consoleListen: ListenAddress
    /// The console's origin for browsers, if it differs from the listening address.
    ///
    /// Default: none.
    package let consoleOrigin: WebOrigin?
    /// The web address of the folder that contains `docs`, without a slash at its end, for links of the console.
    ///
    /// Default: none, and the console shows the names of pages as text.
    package let docsURL: String?
    /// The base address of the operations endpoints; processes of a pool use the ports above it.
    ///
    /// Default: `127.0.0.1:9464`.
    package let metricsListen: ListenAddress
    /// RabbitMQ's management API.
    ///
    /// Default: none, and facts that AMQP does not provide are unknown.
    package let managementURL: Secret?
    /// The URL for LISTEN, if the main URL leads through a pooler.
    ///
    /// Default: the database's URL.
    package let listenURL: Secret?
    /// The URL of the publisher's database whose outbox a relay empties.
    ///
    /// Default: none.
    package let relayURL: Secret?
    /// A file with the issuers whose tokens the inbox API accepts.
    ///
    /// Default: none.
    package let signIn: String?
    /// A JWKS file for the inbox API.
    ///
    /// Default: none.
    package let jwtKeys: String?
    /// Whether an inbox API can check tokens.
    package var hasSignIn: Bool { signIn != nil || jwtKeys != nil }
    /// The required audience of the inbox API's tokens (`aud`).
    ///
    /// Default: `bellhop`.
    package let jwtAudience: String
    /// The required issuer of the tokens (`iss`).
    ///
    /// Default: none, and any issuer whose key is in the set is accepted.
    package let jwtIssuer: String?
    /// The web origins whose pages may call the inbox API.
    ///
    /// Default: none.
    package let apiOrigins: [WebOrigin]
    /// The rate limits of the inbox API.
    ///
    /// Default: ``CallRates/usual``.
    package let apiRate: CallRates
    /// The proxies whose headers are trusted for the client's address.
    ///
    /// Default: none.
    package let apiProxies: [AddressRange]
    /// The maximum number of open connections to the inbox API.
    ///
    /// Default: ``ConnectionLimits/usual``.
    package let apiConnections: ConnectionLimits
    /// A file with the operators of the console and the dead-letter commands.
    ///
    /// Default: none.
    package let operators: String?
    /// A file with the publishers that may send events by HTTP.
    ///
    /// Default: none, so that no program may publish by HTTP.
    package let publishers: String?
    /// The retry tiers, in increasing order.
    ///
    /// Default: `10s,30s,2m,10m,1h`.
    package let retryDelays: [Duration]
    /// The number of attempts before the dead-letter queue.
    ///
    /// Default: 8.
    package let retryLimit: Int
    /// The prefetch of the lanes.
    ///
    /// Default: 2048 per lane, 256 for the urgent one.
    package let prefetch: Prefetch
    /// The number of events that a worker processes together.
    ///
    /// Default: 256.
    package let batch: Int
    /// The time from SIGTERM to the cancellation of running work.
    ///
    /// Default: 20 s.
    package let drainTimeout: Duration
    /// The time without a sign of life after which a supervisor replaces a child process.
    ///
    /// Default: 30 s.
    package let hangTimeout: Duration
    /// The time for which a worker's claim on a delivery is valid, before another worker may take it over.
    ///
    /// Default: 60 s.
    package let lease: Duration
    /// The maximum number of notifications that one scheduler releases per second, if many are due.
    ///
    /// Default: 1,000.
    package let handOverRate: Int
    /// The time after their first failure in which dead letters may be replayed.
    ///
    /// The records that detect duplicates must be kept as long.
    ///
    /// Default: 30 days.
    package let replayHorizon: Duration
    /// The maximum time between the record of a dead letter's event and the first failure, as the retry settings imply.
    package let replayLead: Duration
    /// The retention period of dead letters that no longer wait for an operator.
    ///
    /// Default: none, and no dead letter is ever deleted.
    package let deadLetterRetention: DeadLetterRetention?
    /// The retention periods of all other completed data.
    ///
    /// Default: ``Retention/usual``.
    package let retention: Retention
    /// The rule by which silent devices are revoked; `nil` for never.
    ///
    /// Default: at three at night, after 90 days of silence.
    package let staleDevices: StaleDevicePolicy?
    /// The age at which an event for a large audience is closed if it was not expanded.
    ///
    /// Default: 24 hours after it was due.
    package let wideEventAge: Duration
    /// The level and the form of the log.
    ///
    /// Default: `info`, as text.
    package let log: LogSettings
    /// Every setting as it took effect, in the order of `Setting.all`.
    package let effective: [ConfigurationReader.Effective]

    /// Returns the listing of `bellhop check-config`: setting, value with secrets masked, source.
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
