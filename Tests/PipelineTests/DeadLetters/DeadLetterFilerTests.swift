import AMQP
import IntegrationSupport
import ServiceRuntime
import TestSupport
import Testing

@testable import Pipeline

@Suite(
    "The filer of dead letters",
    .limitedConcurrency,
    .enabled(if: serversAreThere, "needs both servers"),
    .timeLimit(.ofTest)
)
struct DeadLetterFilerTests {
    @Test("dead letters that arrive one by one share lines of the log, which count each of them")
    func lines() async throws {
        try await ServerFixture.withTopology { servers in
            let log = CapturedLog()
            let options = ConsumerOptions(
                broker: try servers.broker,
                name: "test, filer",
                subscriptions: [.init(queue: servers.names.dead, prefetch: 10)]
            )
            let count = 30
            try await RunningDuty.with(
                { DeadLetterFiler(context: $0, makeConsumer: { Consumer(options) }) },
                on: servers,
                log: log
            ) {
                let publisher = Publisher(PublisherOptions(broker: try servers.broker, name: "test, dead letters"))
                publisher.start()
                for number in 1...count {
                    let message = OutgoingMessage(
                        exchange: servers.names.dead,
                        routingKey: "message",
                        properties: MessageProperties(),
                        body: Array("letter \(number)".utf8)
                    )
                    let outcomes = await publisher.publish([message])
                    #expect(outcomes == [.confirmed])
                    try await eventually("letter \(number) is filed") {
                        try await servers.count("SELECT count(*) FROM dead_letters") == number
                    }
                }
                await publisher.close()
            }
            let lines = log.records.filter { $0.message == "filed dead letters" }
            // Each was a separate batch.
            #expect(lines.count < count)
            let counted = lines.compactMap { line -> Int? in
                if case .integer(let number)? = line.fields["count"] { number } else { nil }
            }
            #expect(counted.reduce(0, +) == count, "\(lines)")
        }
    }
}
