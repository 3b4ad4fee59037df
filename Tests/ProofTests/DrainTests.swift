import Glibc
import Sandbox
import TestSupport
import Testing

extension Proofs {
    @Suite("Draining")
    struct DrainTests {
        @Test("a worker that drains under load exits with 0 in time, and the next one takes its returned messages")
        func drainUnderLoad() async throws {
            var chance = Proof.chance("drain")
            try await Stage.with { stage in
                let traffic = Traffic(exchange: stage.names.events)
                let pieces = (0..<6_000).map { traffic.good($0) } + (0..<300).map { traffic.bad($0) }
                let shuffled = pieces.shuffled(using: &chance)
                let scheduler = try await stage.scheduler()
                async let sent = Producer.with(try stage.broker) { try await $0.send(shuffled) }
                for round in 1...4 {
                    let worker = try await stage.worker()
                    let due = 6_000 * round / 6
                    try await eventually("\(due) rows") { try await stage.count("notifications") >= due }
                    try await worker.drain()
                }
                let last = try await stage.worker()
                let balance = try await stage.balance(try await sent, workers: [last], scheduler: scheduler)
                expectEven(balance, "4 drains under load")
            }
        }

        @Test("sends without a response at the end of a drain are settled, and nothing stays claimed")
        func silentProvider() async throws {
            try await PushFixture.withStage { fixture in
                let stage = fixture.stage
                let worker = try await fixture.worker(["BELLHOP_DRAIN_TIMEOUT": "2s"])
                try await fixture.registerDevices()
                fixture.sandbox.setFaults([SandboxFault(.fcm, .delay, delay: .seconds(28))])
                let pieces = (0..<200).map { Traffic(exchange: stage.names.events).good($0) }
                let sent = try await Producer.with(try stage.broker) { try await $0.send(pieces) }
                let claimed = "deliveries WHERE state = 'sending'"
                try await eventually("all are recorded, and some are in flight") {
                    let rows = try await stage.count("notifications")
                    let underWay = try await stage.count(claimed)
                    return rows == sent.records.count && underWay > 0
                }
                worker.child.send(SIGTERM)
                #expect(try await worker.child.ending() == .exited(75))
                #expect(try await stage.count(claimed) == 0)
                #expect(try await stage.count("deliveries WHERE unknown_sends > 0") > 0)
            }
        }

        @Test("a drain during a database hang ends within its timeout, and a second SIGTERM ends it immediately")
        func hangingDatabase() async throws {
            try await Stage.with { stage in
                let traffic = Traffic(exchange: stage.names.events)
                let proxy = try stage.servers.databaseProxy()
                defer { proxy.stop() }
                let behind = ["BELLHOP_DATABASE_URL": proxy.url(replacingHostOf: stage.servers.database)]
                let patient = try await stage.worker(behind)
                let brief = try await stage.worker(behind.merging(["BELLHOP_DRAIN_TIMEOUT": "2s"]) { $1 })
                proxy.blackHole(true)
                let pieces = (0..<500).map { traffic.good($0) }
                let sent = try await Producer.with(try stage.broker) { try await $0.send(pieces) }
                try await eventually("all messages are held by the two workers") {
                    try await stage.waiting(in: try stage.queues).isEmpty
                }
                try await eventually("the hanging database shows") { try await patient.readiness().status == 503 }

                patient.child.send(SIGTERM)
                try await patient.child.waitForLog("draining")
                #expect(patient.child.isRunning)
                // A signal within a second of the first one counts as its echo.
                try await eventually("a second signal ends it", atMost: .proof) {
                    patient.child.send(SIGTERM)
                    return !patient.child.isRunning
                }
                #expect(try await patient.child.ending() == .exited(75))

                brief.child.send(SIGTERM)
                // The drain takes its two seconds, five for the cancelled work and ten for the pool to close.
                #expect(try await brief.child.ending() == .exited(75))

                let next = try await stage.worker()
                let balance = try await stage.balance(sent, workers: [next], scheduler: nil)
                expectEven(balance, "drain with a hanging database")
            }
        }
    }
}
