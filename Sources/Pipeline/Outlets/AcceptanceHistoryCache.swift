import BellhopRules
import Push
import Store

/// A worker's knowledge of acceptance at its outlets: recent acceptances, and the platforms with reached devices.
///
/// Their number is bounded by the configured outlets.
struct AcceptanceHistoryCache {
    /// The period for which an accepted message proves that the credentials are right.
    static let memory = Duration.seconds(600)

    private struct Place: Hashable {
        let outlet: OutletKey
        var environment: PushEnvironment?
        var platform: DevicePlatform?
    }

    private var taken: [Place: ContinuousClock.Instant] = [:]

    /// The parts of outlets, each with one platform, that have reached devices; `nil` until they were read.
    var reached: Set<OutletScope>?

    /// Notes the environments and platforms for which a provider accepted messages.
    mutating func note(
        _ verdicts: [Verdict],
        of shipments: [OutgoingDelivery],
        _ outlet: OutletKey,
        at now: ContinuousClock.Instant
    ) {
        let hasPlatforms = outlet.provider == PushProvider.expo.rawValue
        for (verdict, shipment) in zip(verdicts, shipments) where verdict.isTaken {
            taken[Place(outlet: outlet, environment: shipment.environment)] = now
            if hasPlatforms, let platform = shipment.platform { taken[Place(outlet: outlet, platform: platform)] = now }
        }
    }

    /// Returns the observations at an outlet.
    ///
    /// Until the reached devices were read, all platforms count as reached. Unreached devices then block nothing and
    /// are not lost. Only APNs and FCM report whether a device was reached.
    func history(_ outlet: OutletKey, at now: ContinuousClock.Instant) -> AcceptanceHistory {
        let lately = taken.filter { $0.key.outlet == outlet && now - $0.value < Self.memory }.keys
        var history = AcceptanceHistory(
            recentlyAccepted: Set(lately.filter { $0.platform == nil }.map(\.environment)),
            platformsTakenLately: Set(lately.compactMap(\.platform))
        )
        guard [.apns, .fcm].contains(PushProvider(rawValue: outlet.provider)) else { return history }
        history.platforms = Set(
            DevicePlatform.allCases.filter { reached?.contains(OutletScope(outlet, platform: $0)) ?? true }
        )
        return history
    }
}
