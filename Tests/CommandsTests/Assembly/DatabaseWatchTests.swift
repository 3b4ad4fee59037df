import ServiceRuntime
import TestSupport
import Testing

@testable import Commands
@testable import Postgres

@Suite("What is said of the database")
struct DatabaseWatchTests {
    private let log = CapturedLog()
    private let time = ManualTime(Instant(seconds: 1_800_000_000))

    private var watch: DatabaseWatch { DatabaseWatch(Logger(label: "database", sink: log), time: time) }

    @Test("its going and its coming back are said once each")
    func away() {
        let watch = watch
        watch.see(.connected)
        for _ in 0..<3 { watch.see(.refused(PostgresError(.cannotConnect, "refused"), retryIn: .seconds(1))) }
        watch.see(.lost(nil))
        for _ in 0..<2 { watch.see(.connected) }
        #expect(log.messages == ["the database is away", "the database is back"])
    }

    @Test("a server that takes no writes is not said to be away, nor to be back")
    func readOnly() {
        let watch = watch
        let error = PostgresError(.server(.readOnlyTransaction), "read-only", sqlState: .readOnlyTransaction)
        for _ in 0..<5 {
            watch.see(.lost(error))
            watch.see(.connected)
        }
        #expect(log.messages == ["the database is read-only: it answers and takes no writes"])
        time.advance(by: .seconds(61))
        watch.see(.lost(error))
        #expect(log.messages.count == 2)
    }
}
