@testable import Pipeline
import BellhopRules
import IntegrationSupport
import ServiceRuntime
import Settings
import Store
import Synchronization
import TestSupport
import Testing

@Suite("Heartbeats", .limitedConcurrency, .enabled(if: serversAreThere, "needs both servers"), .timeLimit(.ofTest))
struct HeartbeatDutyTests {
    @Test("a process that drains continues to report it until it ends, and only then is removed")
    func drain() async throws {
        try await ServerFixture.withSchema { servers in
            let book = HeartbeatStore(pool: servers.pool)
            let rollCall = rollCall(servers, book)
            let drain = DrainSignal()
            let running = Task { try await rollCall.run(until: drain) }
            try await eventually("it is seen") { try await book.all().count == 1 }
            let before = try await book.all().first
            #expect(before?.drainingSince == nil)
            drain.fire()
            try await running.value
            try await eventually("it drains") { try await book.all().first?.report.isDraining == true }
            let since = try await book.all().first?.drainingSince
            // If its row is deleted, it is written again.
            try await book.leave("w")
            try await eventually("it still drains") { try await book.all().first?.report.isDraining == true }
            #expect(since != nil)
            await rollCall.sayLastWords(leavingNothing: true)
            let after = try await book.all()
            #expect(after.isEmpty)
        }
    }

    @Test("a process that leaves work behind stays listed, because it may still write")
    func workLeftBehind() async throws {
        try await ServerFixture.withSchema { servers in
            let book = HeartbeatStore(pool: servers.pool)
            let rollCall = rollCall(servers, book)
            let drain = DrainSignal()
            drain.fire()
            try await rollCall.run(until: drain)
            try await eventually("it drains") { try await book.all().first?.report.isDraining == true }
            await rollCall.sayLastWords(leavingNothing: false)
            let after = try await book.all()
            #expect(after.map(\.report.isDraining) == [true])
            await rollCall.sayLastWords(leavingNothing: true)
        }
    }

    @Test("a heartbeat that the database does not accept is repeated without a wait for the next one")
    func failedWrite() async throws {
        try await ServerFixture.withSchema { servers in
            let book = HeartbeatStore(pool: servers.pool)
            _ = try await servers.owner.run("ALTER TABLE processes RENAME TO absent")
            let log = CapturedLog()
            let rollCall = rollCall(servers, book, every: .seconds(3600), log: log)
            let drain = DrainSignal()
            let running = Task { try await rollCall.run(until: drain) }
            try await eventually("the write fails") { log.messages.contains("cannot write the heartbeat") }
            _ = try await servers.owner.run("ALTER TABLE absent RENAME TO processes")
            try await eventually("it is seen") { try await book.all().count == 1 }
            drain.fire()
            try await running.value
            await rollCall.sayLastWords(leavingNothing: true)
        }
    }

    @Test("the result of a reload is written without a wait for the next heartbeat")
    func reload() async throws {
        try await ServerFixture.withSchema { servers in
            let book = HeartbeatStore(pool: servers.pool)
            let source = CatalogSource(servers.catalogs)
            let rollCall = rollCall(servers, book, source, every: .seconds(3600))
            let drain = DrainSignal()
            let running = Task { try await rollCall.run(until: drain) }
            try await eventually("it is seen") { try await book.all().count == 1 }
            source.refuse(because: "a file has faults")
            try await eventually("the refusal is seen") {
                try await book.all().first?.report.refusal == "a file has faults"
            }
            let others = try ServerFixture.shipped()
            source.replace(others)
            try await eventually("the others are seen") {
                let report = try await book.all().first?.report
                return report?.catalogs == others.fingerprint && report?.refusal == nil
            }
            drain.fire()
            try await running.value
            await rollCall.sayLastWords(leavingNothing: true)
        }
    }

    @Test("a change of the reason to take no messages is written without a wait for the next heartbeat")
    func readiness() async throws {
        try await ServerFixture.withSchema { servers in
            let book = HeartbeatStore(pool: servers.pool)
            let hindrance = Mutex<String?>("the database's clock is not known yet")
            let rollCall = rollCall(servers, book, every: .seconds(3600)) { hindrance.withLock(\.self) }
            let drain = DrainSignal()
            let running = Task { try await rollCall.run(until: drain) }
            try await eventually("it is not ready") {
                try await book.all().first?.report.hindrance == "the database's clock is not known yet"
            }
            hindrance.withLock { $0 = nil }
            try await eventually("it is ready") {
                let processes = try await book.all()
                return processes.count == 1 && processes.first?.report.hindrance == nil
            }
            hindrance.withLock { $0 = "urgent: not consuming" }
            try await eventually("it is not ready again") {
                try await book.all().first?.report.hindrance == "urgent: not consuming"
            }
            drain.fire()
            try await running.value
            await rollCall.sayLastWords(leavingNothing: true)
        }
    }

    @Test("a new hold is confirmed without a wait for the next heartbeat, also during a drain")
    func holds() async throws {
        try await ServerFixture.withSchema { servers in
            let book = HeartbeatStore(pool: servers.pool)
            let holds = Mutex<[Int64]>([])
            let rollCall = rollCall(servers, book, every: .seconds(3600), holds: { holds.withLock(\.self) })
            let drain = DrainSignal()
            let running = Task { try await rollCall.run(until: drain) }
            try await eventually("it observes none") { try await book.all().first?.report.holds == [] }
            holds.withLock { $0 = [3] }
            try await eventually("it observes one") { try await book.all().first?.report.holds == [3] }
            drain.fire()
            try await running.value
            holds.withLock { $0 = [3, 4] }
            try await eventually("it observes two") { try await book.all().first?.report.holds == [3, 4] }
            await rollCall.sayLastWords(leavingNothing: true)
        }
    }

    @Test("a breaker that opens or closes is followed by a heartbeat without a wait")
    func breakers() async throws {
        try await ServerFixture.withSchema { servers in
            let book = HeartbeatStore(pool: servers.pool)
            let app = try #require(AppID(validating: "drop"))
            let breakers = Mutex<[BreakerKey]>([])
            let rollCall = rollCall(servers, book, every: .seconds(3600), breakers: { breakers.withLock(\.self) })
            let drain = DrainSignal()
            let running = Task { try await rollCall.run(until: drain) }
            try await eventually("the first one") { try await book.all().count == 1 }
            for open in [[BreakerKey(app: app, provider: "fcm")], []] {
                let before = try #require(try await book.all().first?.seenAt)
                breakers.withLock { $0 = open }
                try await eventually("the next one") { try await book.all().first?.seenAt ?? before > before }
            }
            drain.fire()
            try await running.value
            await rollCall.sayLastWords(leavingNothing: true)
        }
    }

    private func rollCall(
        _ servers: ServerFixture,
        _ book: HeartbeatStore,
        _ source: CatalogSource? = nil,
        every interval: Duration = .milliseconds(20),
        log: CapturedLog = CapturedLog(),
        hindrance: @escaping @Sendable () -> String? = { nil },
        holds: (@Sendable () -> [Int64])? = nil,
        breakers: @escaping @Sendable () -> [BreakerKey] = { [] }
    ) -> HeartbeatDuty {
        HeartbeatDuty(
            Heartbeat.Identity(id: "w", role: "worker", version: "0.1.0", host: "north", process: 7),
            book: book,
            source: source ?? CatalogSource(servers.catalogs),
            logger: Logger(label: "test", level: .debug, sink: log),
            interval: interval,
            hindrance: hindrance,
            holds: holds,
            breakers: breakers
        )
    }
}
