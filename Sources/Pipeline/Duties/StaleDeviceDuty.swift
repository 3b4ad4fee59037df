import Foundation
import Postgres
package import ServiceRuntime
import Store

/// Ends, each night, the devices that nobody has heard of for long.
///
/// Any number may run: what one has ended the others pass by. A walk that was interrupted by the end of the process is
/// done the night after.
package struct StaleDeviceDuty: Service {
    package let name = "stale-devices"
    private let stale: StaleDevices
    private let tools: DutyTools
    private let rhythm: Rhythm
    private let logger: Logger
    private let loop: DutyLoop
    private let doubted: Counter
    private let localHour: @Sendable (Instant) -> Int

    /// When it looks at the clock, and how fast it walks.
    package struct Rhythm: Sendable {
        package var interval: Duration
        /// Between two pages of a thousand devices.
        package var step: Duration

        package init(interval: Duration = .seconds(300), step: Duration = .milliseconds(100)) {
            self.interval = interval
            self.step = step
        }
    }

    /// `localHour` is that of the machine, as `TZ` has it.
    package init(
        tools: DutyTools,
        stale: StaleDevices,
        rhythm: Rhythm = Rhythm(),
        localHour: @escaping @Sendable (Instant) -> Int = Self.machineHour
    ) {
        self.tools = tools
        self.stale = stale
        self.rhythm = rhythm
        self.localHour = localHour
        logger = tools.logger.labelled(name)
        loop = tools.loop(of: name, every: rhythm.interval, trouble: "cannot revoke stale devices")
        doubted = tools.metrics.counter(
            "bellhop_stale_devices_doubted_total",
            help: "Nights in which no silent device was ended, since too many of one provider were silent."
        )
    }

    package func run(until drain: DrainSignal) async throws {
        var night = Night()
        await loop.run(until: drain) { try await look(&night) }
    }

    /// What has been done of a night's walk.
    private struct Night {
        var begunAt: Instant?
        /// Counts first, and ends afterwards what it has counted.
        var walk: StaleDeviceWalk?
        var isRehearsal = true
    }

    private func look(_ night: inout Night) async throws(PostgresError) -> DutyLoop.Next {
        if night.walk == nil {
            let now = tools.time.now()
            guard localHour(now) == stale.hour, isAnother(now, than: night.begunAt) else { return .later }
            night.begunAt = now
            night.isRehearsal = true
            night.walk = walk(night)
        }
        guard var walk = night.walk else { return .later }
        let goesOn = try await walk.step()
        night.walk = goesOn ? walk : nil
        if goesOn { return .after(rhythm.step) }
        if night.isRehearsal {
            guard isBelievable(walk) else { return .later }
            night.isRehearsal = false
            night.walk = self.walk(night)
            return .after(rhythm.step)
        }
        logger.notice(
            "revoked stale devices",
            ["devices": .integer(walk.total), "of": .integer(walk.looked), "days": .integer(stale.days)]
        )
        return .later
    }

    private func walk(_ night: Night) -> StaleDeviceWalk {
        var search = StaleDeviceWalk.Search(days: stale.days)
        search.isRehearsal = night.isRehearsal
        return StaleDeviceWalk(pool: tools.pool, search: search, time: tools.time)
    }

    /// Where very many have fallen silent at one provider it is more likely that nobody passes on what they say.
    ///
    /// A feed may have broken, or a clock be ahead: somebody has to look at that.
    private func isBelievable(_ walk: StaleDeviceWalk) -> Bool {
        let many = walk.found.filter { group, devices in
            devices > Self.usual && devices * Self.share > walk.living[group] ?? 0
        }
        guard !many.isEmpty else { return true }
        doubted.increment()
        for (group, devices) in many {
            logger.error(
                "too many stale devices, none revoked: check that registrations arrive",
                [
                    "app": .text(group.app), "provider": .text(group.provider), "silent": .integer(devices),
                    "living": .integer(walk.living[group] ?? 0),
                    "whatToDo": .text(
                        "bellhop revoke-stale --days \(stale.days) --dry-run, and without it where that is right"
                    ),
                ]
            )
        }
        return false
    }

    /// So many are ended in any case.
    private static let usual = 50
    /// Of one provider's devices of an app no more than a fifth in one night.
    private static let share = 5

    /// Half a day is more than the hour in which it looks, and less than a night to the next.
    private func isAnother(_ now: Instant, than former: Instant?) -> Bool {
        guard let former else { return true }
        // A clock that was ahead and is set back must not make it wait for its former time.
        return abs(now.microseconds - former.microseconds) > 12 * 3_600 * 1_000_000
    }

    package static let machineHour: @Sendable (Instant) -> Int = { now in
        var seconds = time_t(now.microseconds / 1_000_000)
        var parts = tm()
        localtime_r(&seconds, &parts)
        return Int(parts.tm_hour)
    }
}
