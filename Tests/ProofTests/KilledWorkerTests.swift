import Testing
import TestSupport

extension Proofs {
    @Suite("Killed workers")
    struct KilledWorkerTests {
        @Test("kill -9 of one worker of two, again and again under load, loses nothing and doubles nothing")
        func killedWorkers() async throws {
            var chance = Proof.chance("killed workers")
            let events = Proof.isFull ? 50_000 : 10_000
            let kills = Proof.isFull ? 20 : 6
            try await Stage.with { stage in
                let traffic = Traffic(exchange: stage.names.events)
                let pieces = (0..<events).map { traffic.good($0) } + (0..<events / 50).map { traffic.bad($0) }
                let shuffled = pieces.shuffled(using: &chance)
                let scheduler = try await stage.scheduler()
                var workers = [try await stage.worker(), try await stage.worker()]
                let began = ContinuousClock.now
                async let sent = Producer.with(try stage.broker) { producer in
                    try await producer.send(shuffled)
                }
                for kill in 1...kills {
                    let due = events * kill / (kills + 1)
                    try await eventually("\(due) rows", within: .seconds(300)) {
                        try await stage.count("notifications") >= due
                    }
                    let victim = Int.random(in: 0..<workers.count, using: &chance)
                    try await workers[victim].killAtOnce()
                    workers[victim] = try await stage.worker()
                }
                let balance = try await stage.balance(try await sent, workers: workers, scheduler: scheduler)
                let took = (ContinuousClock.now - began).inSeconds
                expectEven(balance, "\(kills) kills over \(events) events in \(took)")
            }
        }
    }
}
