import ServiceRuntime
import TestSupport
import Testing

@testable import Postgres
@testable import Roles

@Suite("Log messages about the database")
struct DatabaseHealthTests {
    private let log = CapturedLog()
    private let time = ManualTime(Instant(seconds: 1_800_000_000))

    private let metrics = MetricsRegistry()

    private var watch: DatabaseHealth {
        DatabaseHealth(Logger(label: "database", sink: log), time: time, metrics: metrics)
    }

    @Test("an outage and its end are logged once each")
    func away() {
        let watch = watch
        watch.see(.connected)
        for _ in 0..<3 { watch.see(.refused(PostgresError(.cannotConnect, "refused"), retryIn: .seconds(1))) }
        watch.see(.lost(nil))
        for _ in 0..<2 { watch.see(.connected) }
        #expect(log.messages == ["database unavailable", "database available"])
    }

    @Test("a lane's problem names the database as its cause while that is unavailable")
    func cause() {
        let watch = watch
        let lane = "its canary has been in flight for 21 s: not consumed"
        #expect(watch.explain(lane) == lane)
        watch.see(.refused(PostgresError(.cannotConnect, "refused"), retryIn: .seconds(1)))
        #expect(watch.explain(lane) == "the database is unavailable, so the lane stores nothing: \(lane)")
        watch.see(.connected)
        #expect(watch.explain(lane) == lane)
    }

    @Test("a read-only server is logged neither as unavailable nor as available again")
    func readOnly() {
        let watch = watch
        let error = PostgresError(.server(.readOnlyTransaction), "read-only", sqlState: .readOnlyTransaction)
        for _ in 0..<5 {
            watch.see(.lost(error))
            watch.see(.connected)
        }
        #expect(log.messages == ["database is read-only"])
        time.advance(by: .seconds(61))
        watch.see(.lost(error))
        #expect(log.messages.count == 2)
    }

    @Test("a server's rejections are counted by reason, and logged if an operator can help")
    func reasons() {
        let watch = watch
        watch.see(.failed(PostgresError(.server(.diskFull), "no space left on device", sqlState: .diskFull)))
        watch.see(.failed(PostgresError(.server(.diskFull), "no space left on device", sqlState: .diskFull)))
        let full = PostgresError(.cannotConnect, "too many clients", sqlState: .tooManyConnections)
        watch.see(.refused(full, retryIn: .seconds(1)))
        watch.see(.connected)
        watch.see(.failed(PostgresError(.server(.deadlock), "deadlock detected", sqlState: .deadlock)))
        watch.see(.failed(PostgresError(.timedOut, "no connection became free")))
        #expect(
            log.messages == [
                "database is out of disk space", "database has no free connections",
            ]
        )
        let text = metrics.text()
        for (reason, count) in [("connections", 1), ("disk", 2), ("locks", 1), ("slow", 1)] {
            let line = "bellhop_database_failures_total{reason=\"\(reason)\"} \(count)\n"
            #expect(text.contains(line), "\(text)")
        }
    }
}
