import Postgres
package import ServiceRuntime
package import Store

/// Says every ten seconds that this process runs, by which catalogues, and what troubles it; so that whoever looks at one
/// installation sees all of its processes, wherever they are.
package struct RollCall: Service {
    package let name = "roll call"
    private let book: ProcessBook
    private let identity: ProcessReport.Identity
    private let source: CatalogSource
    private let logger: Logger
    private let interval: Duration
    private let fill: @Sendable (inout ProcessReport) -> Void

    /// `fill` adds what only this kind of process knows.
    package init(
        _ identity: ProcessReport.Identity,
        book: ProcessBook,
        source: CatalogSource,
        logger: Logger,
        interval: Duration = usualInterval,
        fill: @escaping @Sendable (inout ProcessReport) -> Void = { _ in }
    ) {
        self.identity = identity
        self.book = book
        self.source = source
        self.logger = logger.labelled(name)
        self.interval = interval
        self.fill = fill
    }

    package static let usualInterval = Duration.seconds(10)

    package func run(until drain: DrainSignal) async throws {
        while !drain.isDraining, !Task.isCancelled {
            await say()
            await drain.pause(for: interval)
        }
        try? await book.leave(identity.id)
    }

    private func say() async {
        var report = ProcessReport(identity, catalogs: source.current.fingerprint)
        report.refusal = source.refusal
        fill(&report)
        do throws(PostgresError) {
            try await book.announce(report)
        } catch {
            logger.debug("the database does not hear that this process runs", ["error": .error(error)])
        }
    }
}
