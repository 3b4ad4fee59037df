import BellhopRules
import Postgres
import Push
package import ServiceRuntime
import Store
import Synchronization

/// Keeps work from providers that refuse our keys or settings, and finds out when they take it again.
///
/// What one worker meets with, all know: an open breaker is a row that each worker reads every few seconds. Of all
/// workers that have something for it when its probe is due, one may try a single message; a good answer closes it.
///
/// Thread safety: all state is behind one lock, which is never held across a suspension.
package final class Breakers: Sendable {
    private struct Opened {
        var reason: String
        /// When it may be asked about again.
        var probeAt: ContinuousClock.Instant
        /// Whether the database knows of it: what it does not know yet is not closed because it is not found there.
        var isTold: Bool
    }

    private struct State {
        var open: [BreakerKey: Opened] = [:]
        /// Until when providers want to hear nothing.
        var rests: [OutletKey: ContinuousClock.Instant] = [:]
        var deaths: [OutletKey: DeathWatch] = [:]
        /// The same among devices that were reached before.
        var deathsOfReached: [OutletKey: DeathWatch] = [:]
        var hearsay = Hearsay()
        /// Until when deaths are believed whatever their number: an alarm has just turned out to be none.
        var believed: [OutletKey: ContinuousClock.Instant] = [:]
    }

    /// What operators hold, before any provider is asked.
    package let brakes: HandBrakes
    package let streaks = ProviderStreaks()

    private let state = Mutex(State())
    private let store: any OutletStore
    private let time: any TimeSource
    /// Minutes are counted from here.
    private let start: ContinuousClock.Instant
    private let logger: Logger
    private let openings: Labelled<Counter>
    private let openNow: Labelled<Gauge>

    /// `store` is what all workers share.
    package init(
        store: any OutletStore,
        time: any TimeSource = SystemTime(),
        logger: Logger,
        metrics: MetricsRegistry
    ) {
        self.store = store
        self.time = time
        start = time.steady()
        self.logger = logger.labelled("breakers")
        brakes = HandBrakes(store: store, logger: logger, metrics: metrics)
        openings = metrics.counter(
            "bellhop_breaker_openings_total",
            help: "Breakers that this process opened, or found still needed by a probe.",
            labels: ["app", "provider", "reason"]
        )
        openNow = metrics.gauge(
            "bellhop_breaker_open",
            help: "1 while the breaker is open.",
            labels: ["app", "provider", "platform"]
        )
    }

    /// Whether nothing stands in the way of an outlet; by far the most usual case.
    func isClear(_ outlet: OutletKey) -> Bool {
        guard brakes.isClear(outlet.app) else { return false }
        return state.withLock { state in
            state.rests[outlet] == nil && !state.open.keys.contains { $0.isOf(outlet) }
        }
    }

    /// What may become of messages that want through.
    enum Passage: Sendable, Equatable {
        case free
        /// One of them may, to find out.
        case probe(BreakerKey)
        case held(Hold)
    }

    /// What keeps messages to devices of one platform, and of one type, from their outlet, as far as this worker knows;
    /// nobody is asked.
    func hold(_ outlet: OutletKey, platform: DevicePlatform?, type: EventType? = nil) -> Hold? {
        brakes.hold(outlet, type: type) ?? obstacle(outlet, platform: platform)
    }

    /// The same of a shipment, by the types of all that it takes along.
    func hold(_ outlet: OutletKey, of shipment: Shipment) -> Hold? {
        brakes.hold(outlet, of: shipment) ?? obstacle(outlet, platform: shipment.platform)
    }

    /// What of the provider's side keeps messages from it.
    private func obstacle(_ outlet: OutletKey, platform: DevicePlatform?) -> Hold? {
        let now = time.steady()
        return state.withLock { state in
            if let until = state.rests[outlet] {
                guard until <= now else {
                    return Hold(hindrance: .providerRests, backlog: BacklogKey(outlet), wait: until - now)
                }
                state.rests[outlet] = nil
            }
            let open = Self.breakers(of: outlet, platform).compactMap { key in state.open[key].map { (key, $0) } }
            guard let (first, _) = open.first else { return nil }
            let wait = (open.map(\.1.probeAt).max() ?? now) - now
            return Hold(hindrance: .breaker, backlog: first, wait: max(.zero, wait))
        }
    }

    /// Asks for the next of a backlog, of one platform where only that is held up: of all workers that have come to a
    /// breaker whose probe is due, one may try.
    func passage(_ outlet: OutletKey, platform: DevicePlatform?) async -> Passage {
        guard let hold = hold(outlet, platform: platform) else { return .free }
        // Before anybody is asked, lest a probe be given for one breaker that another holds back.
        guard hold.mayBeOver else { return .held(hold) }
        var probe: BreakerKey?
        for key in Self.breakers(of: outlet, platform) {
            guard let reason = state.withLock({ $0.open[key]?.reason }) else { continue }
            switch await knock(key) {
            case .isClosed: forget(key)
            case .mayProbe: probe = key
            case .later(let wait):
                remember(key, reason, probeIn: wait)
                return .held(Hold(hindrance: .breaker, backlog: key, wait: wait))
            }
        }
        return probe.map { .probe($0) } ?? .free
    }

    /// Mails have no platform: the outlet's breaker is the only one, and may be asked once.
    private static func breakers(of outlet: OutletKey, _ platform: DevicePlatform?) -> [BreakerKey] {
        [BreakerKey(outlet)] + (platform == nil ? [] : [BreakerKey(outlet, platform: platform)])
    }

    /// Acts on what the answers to a batch mean together: opens, closes, lets rest; and says what each comes to, nil where
    /// its message waits behind a breaker that opens now.
    ///
    /// `probe` is the breaker that these messages were to try.
    func judge(_ verdicts: [Verdict], of shipments: [Shipment], _ outlet: OutletKey, probe: BreakerKey?) async
        -> [Verdict?]
    {
        streaks.note(verdicts, outlet, at: time.timestamp)
        let alarm = probe.flatMap { probe in state.withLock { $0.open[probe]?.reason } }
        var judgement = BatchJudgement(verdicts, of: shipments, outlet, despite: alarm)
        note(judgement, outlet)
        if judgement.restsOnStrangers, alarm == nil {
            let witnesses = await witnesses(outlet)
            judgement = BatchJudgement(verdicts, of: shipments, outlet, witnesses: witnesses)
        }
        judgement.isMassDeath = await isMassDeath(judgement, outlet)
        if let wait = judgement.rest { rest(outlet, for: wait) }
        let refusals = judgement.refusals
        for (key, reason) in refusals { await open(key, reason, isProbe: key == probe) }
        if let probe, refusals[probe] == nil, judgement.provesAccess { await close(probe) }
        return judgement.rulings
    }

    /// A provider's later answers call so many devices dead that nothing more should go its way for now.
    func openForMassDeath(_ outlet: OutletKey) async {
        await open(BreakerKey(outlet), RevocationBook.massDeath, isProbe: false)
    }

    /// A provider's later answers refuse our keys or settings so often that nothing more should go its way for now.
    func open(_ outlet: OutletKey, refusedFor reason: VerdictReason) async {
        await open(BreakerKey(outlet), reason.rawValue, isProbe: false)
    }

    /// Notes where the provider takes messages right now.
    private func note(_ judgement: BatchJudgement, _ outlet: OutletKey) {
        let environments = judgement.environmentsTaken
        guard !environments.isEmpty else { return }
        let platforms = outlet.provider == PushProvider.expo.rawValue ? judgement.platformsTaken : []
        state.withLock { $0.hearsay.take(environments, platforms, outlet, at: time.steady()) }
    }

    /// Whose answers count at an outlet.
    ///
    /// While nobody can say, only those of devices that were reached: strangers hold nobody up then, and lose nothing.
    private func witnesses(_ outlet: OutletKey) async -> Witnesses {
        guard let provider = PushProvider(rawValue: outlet.provider), provider == .apns || provider == .fcm else {
            return state.withLock { $0.hearsay.takers(outlet, at: time.steady()) }
        }
        let known = state.withLock { $0.hearsay.witnesses(outlet, at: time.steady()) }
        if let known { return known }
        do throws(PostgresError) {
            let platforms = try await store.platformsReached(of: outlet.app, by: outlet.provider)
            let now = time.steady()
            return state.withLock { state in
                state.hearsay.learn(platforms, outlet, at: now)
                return state.hearsay.witnesses(outlet, at: now) ?? .everybody
            }
        } catch {
            logger.warning("cannot read reached devices", ["error": .error(error)])
            return Witnesses(platforms: Set(DevicePlatform.allCases))
        }
    }

    /// Whether devices die in masses: those of strangers count only where nobody was reached yet.
    private func isMassDeath(_ judgement: BatchJudgement, _ outlet: OutletKey) async -> Bool {
        switch watch(judgement, outlet) {
        case .quiet: return false
        case .alarm: break
        case .strangersOnly: guard await !witnesses(outlet).areChosen else { return false }
        }
        state.withLock { state in
            state.deaths[outlet]?.reset()
            state.deathsOfReached[outlet]?.reset()
        }
        return true
    }

    private enum Watched {
        case quiet
        case alarm
        /// It is one if those count that were never reached.
        case strangersOnly
    }

    /// Looks for devices that die in masses; once that alarm is given, the rest of what was under way is not believed
    /// either.
    ///
    /// Browsers are left out: anybody can register dead endpoints in masses, and must not hold up everybody's.
    private func watch(_ judgement: BatchJudgement, _ outlet: OutletKey) -> Watched {
        guard outlet.provider != PushProvider.webpush.rawValue else { return .quiet }
        let deaths = judgement.deaths
        let ofReached = judgement.deathsOfReached
        let now = time.steady()
        let minute = (now - start).components.seconds / 60
        return state.withLock { state in
            let isAlarmed = deaths.people > 0 && state.open[BreakerKey(outlet)]?.reason == RevocationBook.massDeath
            if let until = state.believed[outlet] {
                guard until <= now else { return isAlarmed ? .alarm : .quiet }
                state.believed[outlet] = nil
            }
            let all = state.deaths[outlet, default: DeathWatch()].take(
                gone: deaths.people,
                of: deaths.answers,
                atMinute: minute
            )
            let reached = state.deathsOfReached[outlet, default: DeathWatch()].take(
                gone: ofReached.people,
                of: ofReached.answers,
                atMinute: minute
            )
            if reached || isAlarmed { return .alarm }
            return all ? .strangersOnly : .quiet
        }
    }

    // MARK: - What all workers know

    /// Reads what the others have met with.
    func refresh() async {
        let known = state.withLock { $0.open.filter(\.value.isTold).keys }
        do throws(PostgresError) {
            let all = try await store.openBreakers()
            for breaker in all { remember(breaker.key, breaker.reason, probeIn: breaker.probeIn) }
            let open = Set(all.map(\.key))
            for key in known where !open.contains(key) { forget(key) }
        } catch {
            logger.warning("cannot read circuit breakers", ["error": .error(error)])
        }
    }

    private func open(_ key: BreakerKey, _ reason: String, isProbe: Bool) async {
        openings.with(key.app.text, key.provider, reason).increment()
        let isNew = remember(key, reason, probeIn: store.firstPause, isTold: false)
        if isNew {
            logger.error(
                "provider rejected our configuration, deferring deliveries",
                [
                    "app": .text(key.app.text), "provider": .text(key.provider), "reason": .text(reason),
                    "platform": .text(key.platform?.rawValue ?? "all"),
                ]
            )
        }
        do throws(PostgresError) {
            if isProbe {
                // One more such device says little of the provider: the next probe may meet one that is well.
                try await store.reopen(key, reason: reason, isTelling: !Self.guesses.contains(reason))
            } else {
                try await store.open(key, reason: reason)
            }
            state.withLock { $0.open[key]?.isTold = true }
            if isNew, reason == RevocationBook.massDeath { try await takeBack(key) }
        } catch {
            logger.warning("cannot store an open breaker", ["error": .error(error)])
        }
    }

    /// What is concluded only from how many hear it.
    private static let guesses: Set<String> = [
        RevocationBook.massDeath, VerdictReason.senderIDMismatch.rawValue, VerdictReason.badDeviceToken.rawValue,
        VerdictReason.deviceTokenNotForTopic.rawValue,
    ]

    /// Lets the devices live again that answers have cost which are doubted; what it does not come to now, `close` does.
    private func takeBack(_ key: BreakerKey) async throws(PostgresError) {
        guard let since = try await store.deathsSince(key) else { return }
        let count = try await store.takeBack(key, since: since)
        if count > 0 { logger.error("restored devices revoked during a mass failure", ["devices": .integer(count)]) }
    }

    /// The row goes last: where taking back fails, the breaker stays open, and its next probe brings both once more.
    private func close(_ key: BreakerKey) async {
        do throws(PostgresError) {
            // Also what was being revoked at the moment of the alarm, which was not there to be taken back yet.
            try await takeBack(key)
            guard try await store.close(key) else { return forget(key) }
            forget(key)
            logger.notice(
                "provider accepts messages again",
                ["app": .text(key.app.text), "provider": .text(key.provider)]
            )
        } catch {
            logger.warning("cannot store a closed breaker", ["error": .error(error)])
        }
    }

    /// Nothing was found that the probe could be sent with.
    func giveBackProbe(of key: BreakerKey) async {
        do throws(PostgresError) {
            try await store.giveBackProbe(of: key)
            state.withLock { $0.open[key]?.probeAt = time.steady() }
        } catch {
            logger.warning("cannot return an unused probe", ["error": .error(error)])
        }
    }

    private func knock(_ key: BreakerKey) async -> BreakerBook.Knock {
        do throws(PostgresError) {
            return try await store.knock(key)
        } catch {
            logger.warning("cannot claim a probe", ["error": .error(error)])
            return .later(.seconds(5))
        }
    }

    /// Whether it is news.
    @discardableResult
    private func remember(
        _ key: BreakerKey,
        _ reason: String,
        probeIn wait: Duration,
        isTold: Bool = true
    ) -> Bool {
        openNow.with(key.app.text, key.provider, key.platform?.rawValue ?? "").set(1)
        return state.withLock { state in
            let isTold = isTold || state.open[key]?.isTold ?? false
            let opened = Opened(reason: reason, probeAt: time.steady() + wait, isTold: isTold)
            return state.open.updateValue(opened, forKey: key) == nil
        }
    }

    /// It is closed.
    ///
    /// After an alarm of deaths the provider is believed for a while: what was held meanwhile comes back all at once, and
    /// those who really are dead among it would sound the alarm again, for ever.
    private func forget(_ key: BreakerKey) {
        openNow.with(key.app.text, key.provider, key.platform?.rawValue ?? "").set(0)
        state.withLock { state in
            let opened = state.open.removeValue(forKey: key)
            guard opened?.reason == RevocationBook.massDeath else { return }
            state.believed[OutletKey(key)] = time.steady() + .seconds(600)
        }
    }

    private func rest(_ outlet: OutletKey, for wait: Duration) {
        let until = time.steady() + wait
        state.withLock { $0.rests[outlet] = max(until, $0.rests[outlet] ?? until) }
    }
}
