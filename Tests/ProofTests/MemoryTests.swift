import AMQP
import Foundation
import TestSupport
import Testing

extension Proofs {
    /// Compares a lane's memory with the bound in SECURITY.md, for the messages that need the most.
    @Suite("Memory of a worker", .enabled(if: !Sanitizer.isOn, "a sanitizer keeps what is freed"))
    struct MemoryTests {
        /// The bound in KiB for one lane, in addition to an idle worker's memory.
        private static let bound = 384 << 10

        @Test("an event of 240 KiB for 1,000 users and many of 120,000 numbers stay within a lane's memory bound")
        func bound() async throws {
            try await Stage.with { stage in
                let numbers = (0..<(Proof.isFull ? 256 : 128)).map { number in
                    let zeros = String(repeating: "0,", count: 119_999) + "0"
                    return Self.event("n\(number)", to: #""u\#(number)""#, data: #""a":[\#(zeros)]"#, on: stage)
                }
                let users = (0..<1000).map { #""u\#($0)""# }.joined(separator: ",")
                let text = String(repeating: "x", count: 225 << 10)
                let wide = Self.event("wide", to: users, data: #""a":"\#(text)""#, on: stage)
                let publisher = Publisher(PublisherOptions(broker: try stage.broker, name: "proof, publishing"))
                publisher.start()
                // All messages are ready before the worker starts, so that the batches have their maximum size.
                let outcomes = await publisher.publish(numbers)
                let worker = try await stage.worker()
                let idle = try await Self.idleMemory(of: stage)
                try await eventually("the numbers are rows", atMost: .proof) {
                    try await stage.count("notifications") >= numbers.count
                }
                let afterNumbers = try worker.child.peakKilobytes - idle
                let last = await publisher.publish([wide])
                try await eventually("the wide one is rows", atMost: .proof) {
                    try await stage.count("notifications") >= numbers.count + 1000
                }
                let afterAll = try worker.child.peakKilobytes - idle
                await publisher.close()
                let (many, all) = (afterNumbers >> 10, afterAll >> 10)
                Proof.report("memory: \(many) MiB for \(numbers.count), \(all) MiB with the wide event")
                let areConfirmed = (outcomes + last).allSatisfy { $0 == .confirmed }
                #expect(areConfirmed)
                #expect(afterNumbers < Self.bound)
                #expect(afterAll < Self.bound)
                try await worker.drain()
            }
        }

        /// Returns the memory of an idle worker in KiB, measured at another worker on a separate stage.
        private static func idleMemory(of stage: Stage) async throws -> Int {
            var idle = 0
            try await Stage.with(stage.servers) { other in
                let worker = try await other.worker()
                idle = try worker.child.peakKilobytes
                try await worker.drain()
            }
            return idle
        }

        private static func event(_ id: String, to users: String, data: String, on stage: Stage) -> OutgoingMessage {
            let words = #""title":"t","body":"b","data":{\#(data)}"#
            return OutgoingMessage(
                exchange: stage.names.events,
                routingKey: "drop.transaction_complete",
                properties: MessageProperties(),
                body: Array(#"{"id":"\#(id)","to":{"users":[\#(users)]},\#(words)}"#.utf8)
            )
        }
    }
}

extension ProgramRun {
    fileprivate var peakKilobytes: Int {
        get throws {
            guard let figure = try peakMemory.split(separator: " ").first.flatMap({ Int($0) }) else {
                throw ProofFailure("the kernel does not say how much memory \(name) has had")
            }
            return figure
        }
    }
}
