import BellhopRules
import Push

/// The devices whose answers are evidence about all devices, if a provider rejects many.
///
/// Anybody can register made-up tokens, from any number of accounts. If a provider has reached devices of an app, only
/// these count. If it has reached none, all count, because wrong credentials would otherwise not be noticed on the
/// first day.
struct AcceptanceHistory: Equatable {
    /// The platforms on which the app has reached devices.
    var platforms: Set<DevicePlatform> = []

    /// The environments in which the provider accepted a message recently: APNs' environments, or `nil` for a provider
    /// without environments.
    ///
    /// The credentials are right there, so answers to unreached devices concern only these devices.
    var recentlyAccepted: Set<PushEnvironment?> = []

    /// For Expo, which has separate credentials per platform: the platforms for which it accepted a message recently.
    var platformsTakenLately: Set<DevicePlatform> = []

    /// The reason of the open breaker that the batch probes.
    ///
    /// The same answer again confirms it. All devices count then.
    var probed: String?

    static let everybody = AcceptanceHistory()

    /// Whether only reached devices count.
    var hasReachedDevices: Bool { !platforms.isEmpty }
}

/// A worker's knowledge of acceptance at one outlet: recent acceptances, and the platforms with reached devices.
struct AcceptanceHistoryCache {
    /// The period for which an accepted message proves that the credentials are right.
    static let memory = Duration.seconds(600)

    private struct Place: Hashable {
        var environment: PushEnvironment?
        var platform: DevicePlatform?
    }

    private var taken: [Place: ContinuousClock.Instant] = [:]

    /// The platforms that have reached devices; `nil` until they were read.
    var reached: Set<DevicePlatform>?

    private let provider: PushProvider?

    init(of outlet: OutletKey) {
        provider = PushProvider(rawValue: outlet.provider)
    }

    /// Notes the environments and platforms for which a provider accepted messages.
    mutating func note(_ verdicts: [Verdict], of shipments: [OutgoingDelivery], at now: ContinuousClock.Instant) {
        for (verdict, shipment) in zip(verdicts, shipments) where verdict.isTaken {
            taken[Place(environment: shipment.environment)] = now
            if provider == .expo, let platform = shipment.platform { taken[Place(platform: platform)] = now }
        }
    }

    /// Returns the observations.
    ///
    /// Until the reached devices were read, all platforms count as reached. Unreached devices then block nothing and
    /// are not lost. Only APNs and FCM report whether a device was reached.
    func history(at now: ContinuousClock.Instant) -> AcceptanceHistory {
        let lately = taken.filter { now - $0.value < Self.memory }.keys
        var history = AcceptanceHistory(
            recentlyAccepted: Set(lately.filter { $0.platform == nil }.map(\.environment)),
            platformsTakenLately: Set(lately.compactMap(\.platform))
        )
        guard provider == .apns || provider == .fcm else { return history }
        history.platforms = reached ?? Set(DevicePlatform.allCases)
        return history
    }
}
