import AMQP
import BellhopRules
import IntegrationSupport
import ServiceRuntime
import Store
import TestSupport
import Testing

@testable import Pipeline
@testable import Postgres

@Suite("Limits on the statements of a batch", .limitedConcurrency, .timeLimit(.ofTest))
struct BatchBoundsTests {
    /// Counts the statements to a database that rejects certain numbers.
    private actor Refusing {
        let refused: Set<Int>
        private(set) var statements = 0

        init(_ refused: Set<Int>) {
            self.refused = refused
        }

        func write(_ items: [Int]) -> [Int]? {
            statements += 1
            return refused.isDisjoint(with: items) ? items : nil
        }
    }

    private static func write(_ count: Int, refusing refused: Set<Int>) async -> (refused: [Int], statements: Int) {
        let database = Refusing(refused)
        let persistence = WriteRetrier(drain: DrainSignal(), context: .test)
        let results = await persistence.write(Array(0..<count)) {
            (items: [Int]) async throws(PostgresError) -> [Int] in
            guard let written = await database.write(items) else {
                throw PostgresError(.server(.invalidParameterValue), "refused", sqlState: .invalidParameterValue)
            }
            return written
        }
        var found: [Int] = []
        for (index, result) in results.enumerated() {
            switch result {
            case .written(let value): #expect(value == index)
            case .refused: found.append(index)
            case .stuck, .abandoned: Issue.record("item \(index) was abandoned")
            }
        }
        return (found, await database.statements)
    }

    @Test(
        "a value that the database rejects is found among 1,024 with 21 statements",
        arguments: [0, 700, 1023]
    )
    func halving(culprit: Int) async {
        let outcome = await Self.write(1024, refusing: [culprit])
        #expect(outcome.refused == [culprit])
        #expect(outcome.statements == 21)
    }

    @Test("several rejected values are all found, and no other value is rejected")
    func manyCulprits() async {
        let none = await Self.write(100, refusing: [])
        #expect(none.statements == 1)
        let some = await Self.write(100, refusing: [3, 4, 99])
        #expect(some.refused == [3, 4, 99])
        let all = await Self.write(16, refusing: Set(0..<16))
        #expect(all.refused == Array(0..<16))
        #expect(all.statements == 31)
    }

    /// A server that fails in a given way, on certain numbers or for a number of statements.
    private actor Failing {
        private let error: PostgresError
        private let culprits: Set<Int>
        private var failuresToCome: Int
        private(set) var statements = 0

        init(_ error: PostgresError, on culprits: Set<Int> = [], times: Int = 0) {
            (self.error, self.culprits, failuresToCome) = (error, culprits, times)
        }

        func write(_ items: [Int]) -> PostgresError? {
            statements += 1
            guard failuresToCome == 0 else {
                failuresToCome -= 1
                return error
            }
            return culprits.isDisjoint(with: items) ? nil : error
        }
    }

    private static func write(
        _ count: Int,
        to server: Failing
    ) async -> [WriteRetrier.Result<Int>] {
        let persistence = WriteRetrier(drain: DrainSignal(), context: .test(time: SkippingTime(), chance: .system))
        return await persistence.write(Array(0..<count)) { (items: [Int]) async throws(PostgresError) -> [Int] in
            if let error = await server.write(items) { throw error }
            return items
        }
    }

    private static func server(_ code: String) -> PostgresError {
        let state = SQLState(known: code)
        return PostgresError(.server(state), "failed", sqlState: state)
    }

    @Test(
        "an item that makes the server fail is found with at most 23 statements, and the other items are written",
        arguments: [("XX001", 23), ("P0001", 23), ("42501", 23), ("55P03", 23), ("57014", 22)]
    )
    func damaged(code: String, statements: Int) async {
        let server = Failing(Self.server(code), on: [700])
        let results = await Self.write(1024, to: server)
        let stuck = results.indices.filter { if case .stuck = results[$0] { true } else { false } }
        let written = results.count { if case .written = $0 { true } else { false } }
        #expect(stuck == [700])
        #expect(written == 1023)
        #expect(await server.statements == statements)
    }

    @Test("the other items are written when many damaged items of one user are at the head of a batch")
    func manyDamaged() async {
        let results = await Self.write(256, to: Failing(Self.server("XX001"), on: Set(0..<100)))
        let written = results.count { if case .written = $0 { true } else { false } }
        #expect(written == 156)
    }

    @Test("the whole batch is repeated until it is written, and no item is blamed, when the server fails on everything")
    func failingOnEverything() async {
        let results = await Self.write(256, to: Failing(Self.server("42501"), times: 40))
        let written = results.count { if case .written = $0 { true } else { false } }
        #expect(written == 256)
    }

    @Test(
        "an error of the connection is not blamed on the content, whatever its SQLSTATE",
        arguments: [PostgresError.Code.cannotConnect, .connectionLost, .outcomeUnknown]
    )
    func connection(code: PostgresError.Code) async {
        let error = PostgresError(code, "the role is missing", sqlState: .invalidParameterValue)
        let results = await Self.write(8, to: Failing(error, times: 20))
        let written = results.count { if case .written = $0 { true } else { false } }
        #expect(written == 8)
    }

    @Test("a statement without message content is repeated until the server accepts it, and abandoned in a drain")
    func insisting() async {
        let (drain, server) = (DrainSignal(), Failing(Self.server("22023"), times: 30))
        let persistence = WriteRetrier(drain: drain, context: .test(time: SkippingTime(), chance: .system))
        let value = await persistence.insist { () async throws(PostgresError) -> Int in
            if let error = await server.write([]) { throw error }
            return 7
        }
        #expect(value == 7)
        drain.fire()
        let none: Int? = await persistence.insist { () async throws(PostgresError) -> Int in throw Self.server("22023")
        }
        #expect(none == nil)
    }

    @Test("a statement has at most 1,024 pairs or 8 MiB of text, and at least one pair")
    func statements() {
        #expect(Recorder.statements(for: []).isEmpty)
        #expect(Recorder.statements(for: Array(repeating: 100, count: 2050)) == [0..<1024, 1024..<2048, 2048..<2050])
        let quarter = 2 << 20
        #expect(Recorder.statements(for: Array(repeating: quarter, count: 9)) == [0..<4, 4..<8, 8..<9])
        #expect(Recorder.statements(for: [9 << 20, 1, 9 << 20]) == [0..<1, 1..<2, 2..<3])
    }

    @Test("a lane that holds too much work waits until it holds less")
    func room() async throws {
        let detached = DetachedWork(limit: 100)
        let door = AsyncStream<Void>.makeStream()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await detached.run() }
            await detached.room()
            detached.add(weighing: 60) { for await _ in door.stream { break } }
            await detached.room()
            await detached.carrying(60) {
                group.addTask {
                    await detached.room()
                    #expect(detached.weight < 100)
                    detached.finish()
                }
                #expect(detached.weight == 120)
            }
            door.continuation.yield()
        }
        #expect(detached.weight == 0)
    }

    @Test(
        "a delivery count that a producer wrote makes no message a suspect: such messages are batched like others",
        .enabled(
            if: Servers.amqpURL != nil && Servers.databaseURL != nil,
            "needs BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL"
        )
    )
    func forgedDeliveryCount() async throws {
        try await ServerFixture.withTopology { servers in
            let publisher = Publisher(PublisherOptions(broker: try servers.broker, name: "test"))
            publisher.start()
            var properties = MessageProperties()
            properties.headers = ["x-delivery-count": 5]
            let outcomes = await publisher.publish(
                (0..<200).map { number in
                    OutgoingMessage(
                        exchange: servers.names.events,
                        routingKey: "drop.system",
                        properties: properties,
                        body: Array(#"{"id":"e\#(number)","to":{"user":"u"},"title":"t","body":""}"#.utf8)
                    )
                }
            )
            await publisher.close()
            let areConfirmed = outcomes.allSatisfy { $0 == .confirmed }
            #expect(areConfirmed)
            try await PipelineFixture.on(servers) { pipeline in
                try await pipeline.waitUntilIdle(events: 200)
                #expect(pipeline.batches < 50)
            }
        }
    }
}
