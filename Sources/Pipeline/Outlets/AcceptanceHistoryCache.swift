import BellhopRules

/// A worker's recent observations of acceptance at its outlets.
///
/// Their number is bounded by the configured outlets.
struct AcceptanceHistoryCache {
    /// The period for which an accepted message proves that the credentials are right.
    static let memory = Duration.seconds(600)

    /// The period after which the platforms with reached devices are read from the database again.
    private static let pause = Duration.seconds(5)

    private struct Place: Hashable {
        let outlet: OutletKey
        var environment: PushEnvironment?
        var platform: DevicePlatform?
    }

    private var taken: [Place: ContinuousClock.Instant] = [:]
    private var platforms: [OutletKey: (reached: Set<DevicePlatform>, at: ContinuousClock.Instant)] = [:]

    /// Notes that a provider accepted messages in these environments and for these platforms.
    mutating func take(
        _ environments: Set<PushEnvironment?>,
        _ platforms: Set<DevicePlatform>,
        _ outlet: OutletKey,
        at now: ContinuousClock.Instant
    ) {
        for environment in environments { taken[Place(outlet: outlet, environment: environment)] = now }
        for platform in platforms { taken[Place(outlet: outlet, platform: platform)] = now }
    }

    /// Stores the platforms on which the outlet has reached devices.
    mutating func learn(_ platforms: Set<DevicePlatform>, _ outlet: OutletKey, at now: ContinuousClock.Instant) {
        self.platforms[outlet] = (platforms, now)
    }

    /// Returns the devices whose answers count; `nil` if the database must be queried.
    func witnesses(_ outlet: OutletKey, at now: ContinuousClock.Instant) -> AcceptanceHistory? {
        guard let known = platforms[outlet], now - known.at < Self.pause else { return nil }
        var witnesses = takers(outlet, at: now)
        witnesses.platforms = known.reached
        return witnesses
    }

    /// Returns the recent acceptances only, for an outlet whose reached devices are not known.
    func takers(_ outlet: OutletKey, at now: ContinuousClock.Instant) -> AcceptanceHistory {
        let lately = taken.filter { $0.key.outlet == outlet && now - $0.value < Self.memory }.keys
        return AcceptanceHistory(
            recentlyAccepted: Set(lately.filter { $0.platform == nil }.map(\.environment)),
            platformsTakenLately: Set(lately.compactMap(\.platform))
        )
    }
}
