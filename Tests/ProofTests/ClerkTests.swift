import TestSupport
import Testing

extension Proofs {
    @Suite("Dead-letter filer")
    struct ClerkTests {
        private static let letters = 2_000

        @Test("every dead letter is stored exactly once despite kill -9 of the scheduler")
        func killedClerk() async throws {
            try await Stage.with { stage in
                let sent = try await sendLetters(on: stage)
                let worker = try await stage.worker()
                var kills = 0
                while kills < 20 {
                    let scheduler = try await stage.scheduler()
                    let before = try await stage.count("dead_letters")
                    if before >= Self.letters { break }
                    try await eventually("it files") { try await stage.count("dead_letters") > before }
                    try await scheduler.killAtOnce()
                    kills += 1
                }
                let scheduler = try await stage.scheduler()
                let balance = try await stage.balance(sent, workers: [worker], scheduler: scheduler)
                expectEven(balance, "\(kills) kills of the scheduler")
            }
        }

        @Test("dead letters stay queued and readyz reports it while the database is unavailable, then are stored once")
        func databaseAway() async throws {
            try await Stage.with { stage in
                let proxy = try stage.servers.databaseProxy()
                defer { proxy.stop() }
                let scheduler = try await stage.scheduler([
                    "BELLHOP_DATABASE_URL": proxy.url(replacingHostOf: stage.servers.database)
                ])
                #expect(try await scheduler.readiness().status == 200)
                proxy.refuse(true)
                proxy.cutAll()
                let sent = try await sendLetters(on: stage)
                let worker = try await stage.worker()
                try await eventually("readyz says that the database is away") {
                    let answer = try await scheduler.readiness()
                    return answer.status == 503 && answer.words.contains("database")
                }
                try await eventually("the queue has them all") {
                    try await stage.depth(of: stage.names.dead) == Self.letters
                }
                try await worker.drain()
                #expect(try await stage.count("dead_letters") == 0)
                #expect(scheduler.child.isRunning)
                proxy.refuse(false)
                try await eventually("it is ready again") { try await scheduler.readiness().status == 200 }
                let balance = try await stage.balance(sent, workers: [], scheduler: scheduler)
                expectEven(balance, "dead letters while the database was away")
            }
        }

        private func sendLetters(on stage: Stage) async throws -> Sent {
            let traffic = Traffic(exchange: stage.names.events)
            return try await Producer.with(try stage.broker) { producer in
                try await producer.send((0..<Self.letters).map { traffic.bad($0) })
            }
        }
    }
}
