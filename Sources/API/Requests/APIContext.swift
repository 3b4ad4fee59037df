package import BellhopRules
package import Push
package import ServiceRuntime
package import Settings
package import Store
package import Tracing

/// The dependencies of the routes.
package struct APIContext: Sendable {
    let users: UserStore
    let catalogs: CatalogSource
    let zones: ZoneLibrary
    let time: any TimeSource
    let secrets: AppSecrets
    let live: LiveHub
    let preferenceFallbacks: LabelledMetric<Counter>
    /// The limit for changes of a user's whole inbox, each of which may rewrite tens of thousands of rows.
    let wholeInboxes = RateLimiter<UserKey>(burst: 5, every: .seconds(5))
    /// The recorder of calls' spans, or `nil` if tracing is off.
    package var tracer: Tracer?
    /// The parts for publishers, or `nil` if no publishers are configured.
    package var publishing: PublishingAccess?

    /// The parts of an app's secrets that the API uses: the public halves of Web Push keys, and unsubscribe links.
    package struct AppSecrets: Sendable {
        package var webPushKeys: [AppID: String]
        package var unsubscribe: [AppID: UnsubscribeLink]
        /// The allowed hosts of browser endpoints.
        ///
        /// An app without an entry accepts any endpoint.
        package var endpointHosts: [AppID: PushServiceHosts]
        /// The configured providers of devices.
        package var providers: [AppID: Set<PushProvider>]

        package init(
            webPushKeys: [AppID: String] = [:],
            unsubscribe: [AppID: UnsubscribeLink] = [:],
            endpointHosts: [AppID: PushServiceHosts] = [:],
            providers: [AppID: Set<PushProvider>] = [:]
        ) {
            self.webPushKeys = webPushKeys
            self.endpointHosts = endpointHosts
            self.unsubscribe = unsubscribe
            self.providers = providers
        }

        /// Creates the parts from the providers' file.
        package init(_ parts: [AppID: ProviderConfiguration.ClientConfiguration]) {
            webPushKeys = parts.compactMapValues(\.webPushKey)
            unsubscribe = parts.compactMapValues(\.unsubscribe)
            endpointHosts = parts.compactMapValues(\.endpointHosts)
            providers = parts.mapValues(\.providers)
        }
    }

    package init(
        users: UserStore,
        catalogs: CatalogSource,
        zones: ZoneLibrary,
        time: any TimeSource,
        secrets: AppSecrets,
        live: LiveHub,
        metrics: MetricsRegistry
    ) {
        self.users = users
        self.catalogs = catalogs
        self.zones = zones
        self.time = time
        self.secrets = secrets
        self.live = live
        preferenceFallbacks = metrics.preferenceFallbacks
    }

    var now: Timestamp { time.timestamp }
}
