import BellhopRules

@testable import Pipeline
@testable import Postgres
@testable import Store

/// Devices, and the state of providers that all workers share.
extension MemoryStore {
    /// An open breaker.
    struct Breaker {
        var reason: String
        let openedAt: Timestamp
        var probeAt: Timestamp
        var failures = 0
        var deathsSince: Timestamp?
    }

    /// A device whose subscription has ended.
    struct RevokedDevice {
        let user: UserKey
        var device: Device
        let at: Timestamp
        let reason: String
    }

    func revoke(_ devices: [DeadDevice]) async throws(PostgresError) -> Int {
        let now = clock
        return try answering { state in
            devices.count { dead in
                guard let known = state.people[dead.recipient]?.devices,
                    let place = known.firstIndex(where: { $0.subscription == dead.subscription }),
                    known[place].token == dead.token,
                    state.registeredAt[dead.subscription].map({ $0 <= dead.deadSince }) ?? true
                else { return false }
                let outlet = BreakerKey(app: dead.recipient.app, provider: known[place].provider.rawValue)
                guard state.breakers[outlet]?.deathsSince == nil else { return false }
                state.people[dead.recipient]?.devices.remove(at: place)
                state.revoked.append(dead.subscription)
                state.revokedDevices.append(
                    RevokedDevice(user: dead.recipient, device: known[place], at: now, reason: dead.reason)
                )
                return true
            }
        }
    }

    func takeBack(_ key: BreakerKey, since: Timestamp) async throws(PostgresError) -> Int {
        try answering { state in
            let back = state.revokedDevices.filter { ended in
                ended.user.app == key.app && ended.device.provider.rawValue == key.provider && ended.at > since
                    && RevokeReason(rawValue: ended.reason) == nil
            }
            for ended in back { state.people[ended.user, default: Recipient()].devices.append(ended.device) }
            let tokens = Set(back.map(\.device.token))
            state.revokedDevices.removeAll { tokens.contains($0.device.token) }
            return back.count
        }
    }

    func note(_ devices: [ReachedDevice]) async throws(PostgresError) -> Int {
        try answering { state in
            devices.count { reached in
                guard let known = state.people[reached.recipient]?.devices,
                    let place = known.firstIndex(where: { $0.subscription == reached.device.subscription }),
                    known[place].token == reached.device.token, !known[place].wasReached
                else { return false }
                state.people[reached.recipient]?.devices[place].wasReached = true
                return true
            }
        }
    }

    func platformsReached() async throws(PostgresError) -> Set<OutletScope> {
        try answering { state in
            let active = state.people.flatMap { key, person in person.devices.map { (key.app, $0) } }
            let ended = state.revokedDevices.map { ($0.user.app, $0.device) }
            let reached = (active + ended).filter { $0.1.wasReached }
            return Set(
                reached.map { OutletScope(app: $0.0, provider: $0.1.provider.rawValue, platform: $0.1.platform) }
            )
        }
    }

    // MARK: - Budgets

    func draw(_ draw: BudgetRequest) async throws(PostgresError) -> Int {
        let now = clock
        return try answering { state in
            let granted = state.budget.map { min($0, draw.wanted) } ?? state.fill(draw, now)
            state.budget? -= granted
            state.drawn += granted
            return granted
        }
    }

    // MARK: - Breakers

    func openBreakers() async throws(PostgresError) -> [OpenBreaker] {
        let now = clock
        return try answering { state in
            state.breakers.map { key, breaker in
                OpenBreaker(
                    key: key,
                    reason: breaker.reason,
                    openedAt: breaker.openedAt.microseconds,
                    probeIn: .microseconds(max(0, breaker.probeAt.microseconds - now.microseconds)),
                    failures: breaker.failures
                )
            }.sorted { $0.key.text < $1.key.text }
        }
    }

    func open(_ key: BreakerKey, reason: String) async throws(PostgresError) {
        let now = clock
        try answering { state in
            let doubt = reason == OpenBreaker.massDeath ? now - .seconds(600) : nil
            guard let known = state.breakers[key] else {
                state.breakers[key] = Breaker(
                    reason: reason,
                    openedAt: now,
                    probeAt: now + firstPause,
                    deathsSince: doubt
                )
                return
            }
            state.breakers[key]?.deathsSince = known.deathsSince ?? doubt
        }
    }

    func reopen(_ key: BreakerKey, reason: String, isTelling: Bool) async throws(PostgresError) {
        let now = clock
        try answering { state in
            guard var breaker = state.breakers[key] else { return }
            breaker.reason = reason
            breaker.failures += 1
            if reason == OpenBreaker.massDeath {
                breaker.deathsSince = breaker.deathsSince ?? now - .seconds(600)
            }
            let longest = Duration.seconds(300)
            let doubled = firstPause * (1 << min(breaker.failures, 20))
            breaker.probeAt = now + (isTelling ? min(doubled, longest) : firstPause)
            state.breakers[key] = breaker
        }
    }

    func close(_ key: BreakerKey) async throws(PostgresError) -> Bool {
        try answering { $0.breakers.removeValue(forKey: key) != nil }
    }

    func knock(_ key: BreakerKey) async throws(PostgresError) -> ProbeClaim {
        let now = clock
        return try answering { state in
            guard let breaker = state.breakers[key] else { return .isClosed }
            guard breaker.probeAt <= now else {
                return .later(.microseconds(breaker.probeAt.microseconds - now.microseconds))
            }
            state.breakers[key]?.probeAt = now + .seconds(30)
            state.probes += 1
            return .mayProbe
        }
    }

    func giveBackProbe(of key: BreakerKey) async throws(PostgresError) {
        let now = clock
        try answering { state in
            state.breakers[key]?.probeAt = now
            state.probes -= 1
        }
    }

    func deathsSince(_ key: BreakerKey) async throws(PostgresError) -> Timestamp? {
        try answering { $0.breakers[key]?.deathsSince }
    }
}

extension MemoryStore.State {
    /// Refills the bucket of a budget and draws from it.
    fileprivate mutating func fill(_ draw: BudgetRequest, _ now: Timestamp) -> Int {
        let bucket = buckets[draw.name] ?? (Double(draw.capacity), now)
        let passed = max(0, Double(now.microseconds - bucket.refilledAt.microseconds) / 1e6)
        let level = min(Double(draw.capacity), bucket.tokens + passed * draw.refillPerSecond)
        let free = (level - Double(draw.reserve)).rounded(.down)
        let granted = max(0, min(draw.wanted, Int(free)))
        buckets[draw.name] = (level - Double(granted), now)
        return granted
    }
}
