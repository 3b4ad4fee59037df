import ServiceRuntime
package import Store

extension Intake {
    /// What a worker says of itself: providers that take nothing of it, the pace at which it pulls, what it has done, and
    /// what keeps it from taking messages.
    package func rollCall(
        _ identity: ProcessReport.Identity,
        book: ProcessBook,
        figures: WorkerFigures? = nil,
        every interval: Duration = RollCall.usualInterval,
        hindrance: @escaping @Sendable () -> String? = { nil }
    ) -> RollCall {
        RollCall(identity, book: book, source: catalogs, logger: context.logger, interval: interval) { report in
            (report.troubles, report.takings) = tools.breakers.streaks.current(at: context.time.timestamp)
            report.figures = figures?.current ?? [:]
            report.hindrance = hindrance()
            let seconds = max(1, Int(interval.components.seconds))
            for (key, count) in tools.backlogs.takePulls() { report.pulls[key.text] = count / seconds }
        }
    }
}
