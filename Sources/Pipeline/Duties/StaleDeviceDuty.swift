import Foundation
package import ServiceRuntime
package import Settings
import Store

/// Ends, each night, the devices that have been silent for long.
///
/// Any number may run; each skips the devices that another has ended. A walk that was interrupted by the end of the
/// process is repeated the next night.
package struct StaleDeviceDuty: Service {
    package let name = "stale-devices"
    private let stale: StaleDevicePolicy
    private let context: SchedulerContext
    private let rhythm: Rhythm
    private let logger: Logger
    private let loop: DutyLoop
    private let doubted: Counter
    private let localHour: @Sendable (Instant) -> Int

    /// The interval of its time checks, and the speed of the walk.
    package struct Rhythm: Sendable {
        package var interval: Duration
        /// The pause between two pages of a thousand devices.
        package var step: Duration

        package init(interval: Duration = .seconds(300), step: Duration = .milliseconds(100)) {
            self.interval = interval
            self.step = step
        }
    }

    /// Creates it; `localHour` returns the machine's local hour, as set by `TZ`.
    package init(
        context: SchedulerContext,
        stale: StaleDevicePolicy,
        rhythm: Rhythm = Rhythm(),
        localHour: @escaping @Sendable (Instant) -> Int = Self.machineHour
    ) {
        self.context = context
        self.stale = stale
        self.rhythm = rhythm
        self.localHour = localHour
        logger = context.logger.labelled(name)
        loop = context.loop(of: name, every: rhythm.interval, trouble: "cannot revoke stale devices")
        doubted = context.metrics.counter(
            "bellhop_stale_devices_doubted_total",
            help: "Nights in which no silent device was ended, since too many of one provider were silent."
        )
    }

    package func run(until drain: DrainSignal) async throws {
        var night = NightlyRun()
        await loop.run(until: drain) { try await look(&night) }
    }

    /// The progress of a night's walk.
    private struct NightlyRun {
        var begunAt: Instant?
        /// The current walk: the first one counts, the second one ends the counted devices.
        var walk: StaleDeviceWalk?
        var isRehearsal = true
    }

    private func look(_ night: inout NightlyRun) async throws(StoreError) -> DutyLoop.Next {
        if night.walk == nil {
            let now = context.time.now()
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
        let fields: LogFields = [
            "devices": .integer(walk.total), "of": .integer(walk.looked), "days": .integer(stale.days),
        ]
        if walk.total > 0 {
            logger.notice("revoked stale devices", fields)
        } else {
            logger.info("no stale devices", fields)
        }
        return .later
    }

    private func walk(_ night: NightlyRun) -> StaleDeviceWalk {
        var search = StaleDeviceWalk.Search(days: stale.days)
        search.isRehearsal = night.isRehearsal
        return StaleDeviceWalk(pool: context.pool, search: search, time: context.time)
    }

    /// Whether the number of silent devices is plausible.
    ///
    /// If a large part of a provider's devices is silent, a broken feed or a clock that is ahead is more likely, and an
    /// operator has to check.
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

    /// The number of devices that may end in any case.
    private static let usual = 50
    /// At most a fifth of a provider's devices of an app may end in one night.
    private static let share = 5

    /// Whether a new night has begun.
    ///
    /// Half a day is longer than the hour of the walk, and shorter than the time to the next night.
    private func isAnother(_ now: Instant, than former: Instant?) -> Bool {
        guard let former else { return true }
        // A clock that was ahead and is set back must not wait for its former time.
        return abs(now.microseconds - former.microseconds) > 12 * 3_600 * 1_000_000
    }

    package static let machineHour: @Sendable (Instant) -> Int = { now in
        var seconds = time_t(now.microseconds / 1_000_000)
        var parts = tm()
        localtime_r(&seconds, &parts)
        return Int(parts.tm_hour)
    }
}
