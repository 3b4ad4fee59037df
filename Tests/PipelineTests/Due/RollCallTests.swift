import Pipeline
import ServiceRuntime
import Store
import TestSupport
import Testing
import Workbench

@Suite("The roll call", .inTurn, .enabled(if: serversAreThere, "needs both servers"), .timeLimit(.minutes(2)))
struct RollCallTests {
    @Test("a process that drains goes on saying so until it ends, and only then is it struck off")
    func drain() async throws {
        try await Bench.withSchema { bench in
            let book = ProcessBook(pool: bench.pool)
            let own = ProcessReport.Identity(id: "w", role: "worker", version: "0.1.0", host: "north", process: 7)
            let rollCall = RollCall(
                own,
                book: book,
                source: CatalogSource(bench.catalogs),
                logger: Logger(label: "test", level: .error, sink: CapturedLog()),
                interval: .milliseconds(20)
            )
            let drain = DrainSignal()
            let running = Task { try await rollCall.run(until: drain) }
            try await eventually("it is seen") { try await book.all().count == 1 }
            let before = try await book.all().first
            #expect(before?.drainingSince == nil)
            drain.fire()
            try await running.value
            try await eventually("it drains") { try await book.all().first?.report.isDraining == true }
            let since = try await book.all().first?.drainingSince
            // Whoever forgot it hears of it again.
            try await book.leave("w")
            try await eventually("it still says so") { try await book.all().first?.report.isDraining == true }
            #expect(since != nil)
            await rollCall.sayLastWords()
            let after = try await book.all()
            #expect(after.isEmpty)
        }
    }
}
