import Foundation
import TestSupport
import Testing

extension Proofs {
    /// Producers in other languages, as the README shows them.
    @Suite("Producers in other languages")
    struct ProducerTests {
        private static let publish = Program.find("amqp-publish")
        /// The first Python that has the library: the user's own may lack the packages of the distribution.
        private static let interpreter: URL? = {
            let places = [Program.find("python3"), URL(fileURLWithPath: "/usr/bin/python3")].compactMap { $0 }
            return places.first { place in
                let check = Process()
                check.executableURL = place
                check.arguments = ["-c", "import pika"]
                check.standardError = FileHandle.nullDevice
                guard (try? check.run()) != nil else { return false }
                check.waitUntilExit()
                return check.terminationStatus == 0
            }
        }()

        @Test(
            "the README's Python example creates a row with the catalogue's text",
            .enabled(if: interpreter != nil, "needs python3 with pika (Debian: python3-pika)")
        )
        func firstEvent() async throws {
            try await Stage.with { stage in
                let worker = try await stage.worker()
                try await python("first_event.py", on: stage)
                // A repeat after an uncertain publish: the same id is the same event.
                try await python("first_event.py", on: stage)
                try await expect(
                    ["first-1|ada|Overføring til Mama Jasmina fullført|2 000 kr sendt til Serbia"],
                    on: stage
                )
                try await worker.drain()
            }
        }

        @Test(
            "structured and binary CloudEvents from Python create rows",
            .enabled(if: interpreter != nil, "needs python3 with pika (Debian: python3-pika)")
        )
        func cloudEventsFromPython() async throws {
            try await Stage.with { stage in
                let worker = try await stage.worker()
                try await python("cloud_events.py", on: stage)
                let words = "ada|Overføring til Mama Jasmina fullført|2 000 kr sendt til Serbia"
                try await expect(["/bank/binary|\(words)", "/bank/structured|\(words)"], on: stage)
                try await worker.drain()
            }
        }

        @Test(
            "amqp-publish with each of the three event forms creates a row",
            .enabled(if: publish != nil, "needs amqp-publish (amqp-tools)")
        )
        func amqpPublish() async throws {
            try await Stage.with { stage in
                let worker = try await stage.worker()
                let fields = #""to": {"user": "ada"}, "title": "QR-betaling", "body": "129 kr betalt""#
                try await amqpPublish("application/json", #"{"id": "plain", \#(fields)}"#, on: stage)
                try await amqpPublish(
                    "application/cloudevents+json",
                    #"{"specversion": "1.0", "id": "structured", "source": "/till", "type": "qr_payment", "data": {\#(fields)}}"#,
                    on: stage
                )
                try await amqpPublish(
                    "application/json",
                    "{\(fields)}",
                    on: stage,
                    headers: [
                        "cloudEvents_specversion: 1.0", "cloudEvents_id: binary", "cloudEvents_source: /till",
                        "cloudEvents_type: qr_payment",
                    ]
                )
                let words = "ada|QR-betaling|129 kr betalt"
                try await expect(["/till/binary|\(words)", "/till/structured|\(words)", "plain|\(words)"], on: stage)
                try await worker.drain()
            }
        }

        @Test("the README shows exactly the code that is tested here")
        func readme() throws {
            let readme = try String(contentsOf: Program.checkout.appendingPathComponent("README.md"), encoding: .utf8)
            let code = try String(
                contentsOf: Program.producers.appendingPathComponent("first_event.py"),
                encoding: .utf8
            )
            #expect(readme.contains("```python\n\(code)```"))
        }

        private func python(_ script: String, on stage: Stage) async throws {
            let program = try #require(Self.interpreter)
            try await stage.run(program, [Program.producers.appendingPathComponent(script).path])
        }

        private func amqpPublish(
            _ contentType: String,
            _ body: String,
            on stage: Stage,
            headers: [String] = []
        ) async throws {
            let program = try #require(Self.publish)
            let words = [
                "-u", stage.servers.amqp, "-e", stage.names.events, "-r", "drop.qr_payment", "-p", "-C", contentType,
                "-b", body,
            ]
            try await stage.run(program, words + headers.flatMap { ["-H", $0] })
        }

        /// Waits for these rows and requires that there are no others and no dead letters.
        private func expect(_ rows: [String], on stage: Stage) async throws {
            try await eventually("\(rows.count) rows") {
                let refused = try await stage.count("dead_letters")
                guard refused == 0 else { throw ProofFailure("\(refused) messages were refused") }
                return try await stage.count("notifications") >= rows.count
            }
            let query = "SELECT concat_ws('|', event_id, user_id, title, body) FROM notifications ORDER BY 1"
            #expect(try await stage.column(query) == rows)
        }
    }
}
