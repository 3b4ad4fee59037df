import ServiceRuntime
package import Store

extension Intake {
    /// Returns a worker's heartbeat service.
    ///
    /// Its reports contain failing providers, the pull rates, the worker's figures and the reason why it takes no
    /// messages, if any.
    package func rollCall(
        _ identity: Heartbeat.Identity,
        book: HeartbeatStore,
        figures: WorkerFigures? = nil,
        every interval: Duration = HeartbeatDuty.usualInterval,
        hindrance: @escaping @Sendable () -> String? = { nil }
    ) -> HeartbeatDuty {
        HeartbeatDuty(
            identity,
            book: book,
            source: catalogs,
            logger: context.logger,
            interval: interval,
            hindrance: hindrance
        ) { report in
            (report.troubles, report.takings) = tools.outlets.streaks(at: context.time.timestamp)
            report.figures = figures?.current ?? [:]
            let seconds = max(1, Int(interval.components.seconds))
            for (key, count) in tools.outlets.takePulls() { report.pulls[key.text] = count / seconds }
        }
    }
}
