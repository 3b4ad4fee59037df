package import BellhopRules
package import Pipeline
package import Push
package import ServiceRuntime
package import Store
package import Tracing

/// What the routes work with.
package struct Tools: Sendable {
    let desk: ReaderDesk
    let catalogs: CatalogSource
    let zones: ZoneLibrary
    let time: any TimeSource
    let secrets: AppSecrets
    let live: LiveHub
    let preferenceFallbacks: Labelled<Counter>
    /// Limits the changes of a user's whole inbox, each of which may rewrite tens of thousands of rows.
    let wholeInboxes = RateLimiter<RecipientKey>(burst: 5, every: .seconds(5))
    /// Where calls leave their spans; nil where nobody keeps any.
    package var tracer: Tracer?

    /// What apps have that the API speaks of: the public halves of their Web Push keys, and their unsubscribe links.
    package struct AppSecrets: Sendable {
        package var webPushKeys: [AppID: String]
        package var unsubscribe: [AppID: UnsubscribeLink]
        /// Where browsers' endpoints may be; any endpoint is taken for an app that has none here.
        package var endpointHosts: [AppID: PushServiceHosts]

        package init(
            webPushKeys: [AppID: String] = [:],
            unsubscribe: [AppID: UnsubscribeLink] = [:],
            endpointHosts: [AppID: PushServiceHosts] = [:]
        ) {
            self.webPushKeys = webPushKeys
            self.endpointHosts = endpointHosts
            self.unsubscribe = unsubscribe
        }

        /// From the file of the providers.
        package init(_ parts: [AppID: ProviderConfiguration.ClientPart]) {
            webPushKeys = parts.compactMapValues(\.webPushKey)
            unsubscribe = parts.compactMapValues(\.unsubscribe)
            endpointHosts = parts.compactMapValues(\.endpointHosts)
        }
    }

    package init(
        desk: ReaderDesk,
        catalogs: CatalogSource,
        zones: ZoneLibrary,
        time: any TimeSource,
        secrets: AppSecrets,
        live: LiveHub,
        metrics: MetricsRegistry
    ) {
        self.desk = desk
        self.catalogs = catalogs
        self.zones = zones
        self.time = time
        self.secrets = secrets
        self.live = live
        preferenceFallbacks = metrics.preferenceFallbacks
    }

    var now: Timestamp { time.timestamp }
}
