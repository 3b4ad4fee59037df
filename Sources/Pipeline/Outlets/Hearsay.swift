import BellhopRules

/// What a worker knows of those who answer at its outlets; bounded by the outlets that are configured.
struct Hearsay {
    /// How long something that was taken says that our keys are right.
    static let memory = Duration.seconds(600)

    /// How long an outlet counts as one that has reached nobody, before the database is asked again.
    private static let pause = Duration.seconds(5)

    private struct Place: Hashable {
        let outlet: OutletKey
        var environment: PushEnvironment?
        var platform: DevicePlatform?
    }

    private var taken: [Place: ContinuousClock.Instant] = [:]
    private var platforms: [OutletKey: (reached: Set<DevicePlatform>, at: ContinuousClock.Instant)] = [:]

    /// A provider has taken something in these environments, and for these platforms.
    mutating func take(
        _ environments: Set<PushEnvironment?>,
        _ platforms: Set<DevicePlatform>,
        _ outlet: OutletKey,
        at now: ContinuousClock.Instant
    ) {
        for environment in environments { taken[Place(outlet: outlet, environment: environment)] = now }
        for platform in platforms { taken[Place(outlet: outlet, platform: platform)] = now }
    }

    /// On these platforms devices are known that were reached.
    mutating func learn(_ platforms: Set<DevicePlatform>, _ outlet: OutletKey, at now: ContinuousClock.Instant) {
        self.platforms[outlet] = (platforms, now)
    }

    /// Whose answers count; nil where the database should be asked.
    func witnesses(_ outlet: OutletKey, at now: ContinuousClock.Instant) -> Witnesses? {
        guard let known = platforms[outlet], now - known.at < Self.pause else { return nil }
        var witnesses = takers(outlet, at: now)
        witnesses.platforms = known.reached
        return witnesses
    }

    /// Only where something was taken lately, for an outlet whose devices nobody knows to be reached.
    func takers(_ outlet: OutletKey, at now: ContinuousClock.Instant) -> Witnesses {
        let lately = taken.filter { $0.key.outlet == outlet && now - $0.value < Self.memory }.keys
        return Witnesses(
            takenLately: Set(lately.filter { $0.platform == nil }.map(\.environment)),
            platformsTakenLately: Set(lately.compactMap(\.platform))
        )
    }
}
