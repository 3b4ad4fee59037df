import AMQP
import HTTPServer
import ServiceRuntime
import TestSupport

/// A normal lane that no worker serves and that holds few messages, as a policy of the broker can limit it.
enum FullLane {
    private static let limit: Int64 = 5

    /// Replaces the lane's queue by a short one, and publishes until the broker rejects an event.
    static func fill(_ stage: Stage) async throws {
        let names = stage.names
        try await BrokerSession.with(try stage.broker, name: "test, short lane") { session in
            try session.deleteQueue(names.lane(.normal))
            _ = try session.declareQueue(
                names.lane(.normal),
                arguments: [
                    "x-queue-type": .string("quorum"), "x-overflow": .string("reject-publish"),
                    "x-max-length": .int64(limit),
                ]
            )
            try session.bind(names.lane(.normal), to: names.events, key: "drop.#")
        }
        let file = stage.folder.appendingPathComponent("events.jsonl")
        let events = (0..<20).map { number in
            #"{"id":"full-\#(number)","app":"drop","eventType":"system","to":{"user":"u1"},"title":"t","body":"b"}"#
        }
        try events.joined(separator: "\n").write(to: file, atomically: true, encoding: .utf8)
        try await eventually("the broker rejects an event") {
            let child = try stage.start(Program.bellhop, ["publish", file.path], stage.environment())
            return try await child.ending() == .exited(75) && child.log.contains("its queue is full")
        }
    }

    /// Runs a body with a management API that knows the lane's limit.
    ///
    /// RabbitMQ's plugin for it need not be enabled on the servers of a test.
    static func withManagement(of stage: Stage, _ body: (String) async throws -> Void) async throws {
        let page = """
            {"items":[{"name":"\(stage.names.lane(.normal))","arguments":{"x-max-length":\(limit)}}],"page_count":1}
            """
        let server = try HTTPServer.start(listen: ListenAddress(host: "127.0.0.1", port: 0)) { _ in
            .json(Array(page.utf8))
        }
        let result: Result<Void, any Error>
        do { result = .success(try await body("http://\(server.address)")) } catch { result = .failure(error) }
        await server.stop()
        try result.get()
    }
}
