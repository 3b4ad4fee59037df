import AMQP
import Postgres
import TestSupport
import Testing

extension Proofs {
    @Suite("Lost responses of the database")
    struct LostReplyTests {
        @Test("a worker whose commits lose their responses writes each row once")
        func lostCommits() async throws {
            try await Stage.with { stage in
                let traffic = Traffic(exchange: stage.names.events)
                let proxy = try stage.servers.databaseProxy()
                defer { proxy.stop() }
                let worker = try await stage.worker([
                    "BELLHOP_DATABASE_URL": proxy.url(replacingHostOf: stage.servers.database)
                ])
                let scheduler = try await stage.scheduler()
                let rounds = Proof.isFull ? 50 : 10
                let sent = try await Producer.with(try stage.broker) { producer in
                    var sent = Sent()
                    for round in 0..<rounds {
                        let first = 1_000 + round * 100
                        proxy.loseReply(whenClientSends: Array("good-\(first + 50)".utf8))
                        let pieces = (first..<first + 100).map { traffic.good($0) } + [traffic.bad(first)]
                        sent = sent + (try await producer.send(pieces))
                        let expected = sent.records.count
                        try await eventually("round \(round) is recorded") {
                            try await stage.count("notifications") >= expected
                        }
                        try await eventually("round \(round) has lost a reply") {
                            try await worker.meter("bellhop_store_failures_total") > Double(round)
                        }
                    }
                    return sent
                }
                let balance = try await stage.balance(sent, workers: [worker], scheduler: scheduler)
                expectEven(balance, "\(rounds) lost replies")
            }
        }

        @Test("events stored for later are stored once despite lost responses")
        func lostPlans() async throws {
            try await Stage.with { stage in
                let proxy = try stage.servers.databaseProxy()
                defer { proxy.stop() }
                let worker = try await stage.worker([
                    "BELLHOP_DATABASE_URL": proxy.url(replacingHostOf: stage.servers.database)
                ])
                try await Producer.with(try stage.broker) { producer in
                    for round in 0..<3 {
                        proxy.loseReply(whenClientSends: Array("plan-\(round)-7".utf8))
                        let messages = (0..<10).map { number in
                            let body = #"{"id":"plan-\#(round)-\#(number)","to":{"topic":"t"},"title":"t","body":"b"}"#
                            return OutgoingMessage(
                                exchange: stage.names.events,
                                routingKey: "drop.system",
                                body: Array(body.utf8)
                            )
                        }
                        let outcomes = await producer.publisher.publish(messages)
                        #expect(outcomes.allSatisfy { $0 == .confirmed })
                        try await eventually("round \(round) is kept") {
                            try await stage.count("events") >= 10 * (round + 1)
                        }
                        try await eventually("round \(round) has lost a reply") {
                            try await worker.meter("bellhop_store_failures_total") > Double(round)
                        }
                    }
                }
                try await eventually("each has gone out, to nobody") {
                    try await stage.count("fanouts WHERE state = 'finished'") == 30
                }
                try await worker.drain()
                #expect(try await stage.count("events") == 30)
                #expect(try await stage.count("(SELECT DISTINCT id FROM events) AS ids") == 30)
                #expect(try await stage.waiting(in: try stage.queues) == [])
            }
        }
    }
}
