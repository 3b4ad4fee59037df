import Glibc
import TestSupport
import Testing

extension Proofs {
    @Suite("Reloading catalogues")
    struct ReloadTests {
        @Test("SIGHUP under load activates the catalogues between two batches and loses no message")
        func reloadUnderLoad() async throws {
            try await Stage.with { stage in
                let traffic = Traffic(exchange: stage.names.events)
                let worker = try await stage.worker()
                let scheduler = try await stage.scheduler()
                let pieces = (0..<2_000).map { traffic.good($0) } + (0..<50).map { traffic.bad($0) }
                async let sent = Producer.with(try stage.broker) { try await $0.send(pieces) }
                for round in 1...4 {
                    try await eventually("\(round * 400) rows") {
                        try await stage.count("notifications") >= round * 400
                    }
                    worker.child.send(SIGHUP)
                    try await eventually("the catalogues are read, \(round)") {
                        try await worker.meter("bellhop_catalog_reloads_total") >= Double(round)
                    }
                }
                scheduler.child.send(SIGHUP)
                try await scheduler.child.waitForLog("catalogues reloaded")
                let balance = try await stage.balance(try await sent, workers: [worker], scheduler: scheduler)
                expectEven(balance, "4 reloads under load")
            }
        }
    }
}
