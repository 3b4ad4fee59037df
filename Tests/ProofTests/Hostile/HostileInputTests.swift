import AMQP
import TestSupport
import Testing

extension Proofs {
    /// Checks that the worker survives any input and that every message ends as the rules require.
    @Suite("Hostile input")
    struct HostileInputTests {
        private static let keys = [
            "drop.security", "drop.system", "drop.recipient.upserted", "nosuch.x", "drop", ".", "", "#",
        ]

        @Test("a random message with random headers ends as a row, a stored event or a dead letter with its bytes")
        func randomMessages() async throws {
            let chance = Proof.chance("hostile input")
            try await Stage.with { stage in
                var bodies = RandomBody(chance: chance)
                var hostile = HostileProperties(chance: chance)
                var foresight = try MessagePrediction(events: stage.names.events)
                var pieces: [ProofMessage] = []
                for number in 0..<Proof.rounds(3_000) {
                    let body =
                        switch number % 4 {
                        case 0: bodies.bytes(number)
                        case 1: bodies.json(number)
                        case 2: bodies.mutation(number)
                        default: Array(bodies.event(number).utf8)
                        }
                    let key = number % 4 == 3 ? "drop.security" : Self.keys.randomElement(using: &bodies.chance) ?? ""
                    // Some are published past the exchange, directly to a lane.
                    let isDirect = number % 50 == 7
                    let message = OutgoingMessage(
                        exchange: isDirect ? "" : stage.names.events,
                        routingKey: isDirect ? stage.names.lane(.normal) : key,
                        properties: number % 3 == 0 ? MessageProperties() : hostile.properties(),
                        body: body
                    )
                    if let piece = foresight.piece(message) { pieces.append(piece) }
                }
                try await prove(pieces, on: stage, "hostile input")
            }
        }

        @Test("a message copied by a CC header is one row per user, or a dead letter per copy")
        func carbonCopies() async throws {
            try await Stage.with { stage in
                let traffic = Traffic(exchange: stage.names.events)
                let pieces = (0..<60).map { number in
                    var piece = number % 2 == 0 ? traffic.good(number) : traffic.bad(number)
                    var properties = piece.message.properties
                    properties.headers[number % 3 == 0 ? "BCC" : "CC"] = .array(["drop.security", "drop.system"])
                    properties.headers["x-delivery-count"] = .int64(.max)
                    piece = ProofMessage(
                        message: OutgoingMessage(
                            exchange: piece.message.exchange,
                            routingKey: piece.message.routingKey,
                            properties: properties,
                            body: piece.message.body
                        ),
                        fate: piece.fate,
                        copies: 3
                    )
                    return piece
                }
                try await prove(pieces, on: stage, "carbon copies")
            }
        }

        @Test("a message with a malformed CC header or property that the broker rejects stays with its producer")
        func refusals() async throws {
            try await Stage.with { stage in
                let body = Array(#"{"id":"r","to":{"user":"u"},"title":"t","body":"b"}"#.utf8)
                let notANumber = [1, UInt8(ascii: "n"), UInt8(ascii: "d"), 0x7f, 0xf8, 0, 0, 0, 0, 0, 0]
                let attempts: [(flags: UInt16, properties: [UInt8])] = [
                    (1 << 13, RawHeader.long(RawHeader.entry("CC", "S", Array("x".utf8)))),
                    (1 << 13, RawHeader.long(RawHeader.entry("BCC", "F", []))),
                    (1 << 13, RawHeader.long(notANumber)),
                    (1 << 8, [4] + Array("soon".utf8)),
                ]
                let (url, exchange) = (stage.servers.amqp, stage.names.events)
                for attempt in attempts {
                    let answer = try await onThread {
                        try? RawPublisher(url).publish(
                            to: Array("drop.system".utf8),
                            exchange: exchange,
                            flags: attempt.flags,
                            properties: attempt.properties,
                            body: body
                        )
                    }
                    #expect(answer != .confirmed)
                }
                try await prove([], on: stage, "refusals")
            }
        }

        @Test("every accepted message with a header table of random bytes or great depth is accounted for")
        func rawHeaders() async throws {
            let seeded = Proof.chance("raw headers")
            try await Stage.with { stage in
                let traffic = Traffic(exchange: stage.names.events)
                let (url, exchange) = (stage.servers.amqp, stage.names.events)
                let sent = try await onThread {
                    var chance = seeded
                    var sent = Sent()
                    var raw = try RawPublisher(url)
                    // Most of them close the connection, and a new one takes time.
                    for number in 0..<Proof.rounds(3_000) / 60 {
                        let piece = number % 2 == 0 ? traffic.good(number) : traffic.bad(number)
                        let entries = number % 10 == 0 ? RawHeader.nested(levels: 90) : RawHeader.random(&chance)
                        let answer = try? raw.publish(
                            to: Array(piece.message.routingKey.utf8),
                            exchange: exchange,
                            flags: 1 << 13,
                            properties: RawHeader.long(entries),
                            body: piece.message.body
                        )
                        if answer == .confirmed { sent.note(piece) } else { raw = try RawPublisher(url) }
                    }
                    return sent
                }
                let (worker, scheduler) = (try await stage.worker(), try await stage.scheduler())
                expectEven(try await stage.balance(sent, workers: [worker], scheduler: scheduler), "raw headers")
            }
        }

        @Test(
            "messages that expire before a worker takes them are the broker's dead letters, stored with their bytes"
        )
        func expired() async throws {
            try await Stage.with { stage in
                let traffic = Traffic(exchange: stage.names.events)
                let pieces = (0..<50).map { number in
                    let message = traffic.good(number).message
                    var properties = message.properties
                    properties.expiration = "1"
                    return ProofMessage(
                        message: OutgoingMessage(
                            exchange: message.exchange,
                            routingKey: message.routingKey,
                            properties: properties,
                            body: message.body
                        ),
                        fate: .rejected("expired")
                    )
                }
                let sent = try await Producer.with(try stage.broker) { try await $0.send(pieces) }
                let scheduler = try await stage.scheduler()
                expectEven(try await stage.balance(sent, workers: [], scheduler: scheduler), "expired messages")
            }
        }

        /// Publishes the messages and requires that one worker and one scheduler survive to the end.
        private func prove(_ pieces: [ProofMessage], on stage: Stage, _ proof: String) async throws {
            let scheduler = try await stage.scheduler()
            let worker = try await stage.worker()
            let sent = try await Producer.with(try stage.broker) { try await $0.send(pieces) }
            let balance = try await stage.balance(sent, workers: [worker], scheduler: scheduler)
            expectEven(balance, "\(proof), \(pieces.count) messages")
        }
    }
}

/// Builds header tables byte by byte.
private enum RawHeader {
    static func entry(_ name: String, _ kind: Character, _ payload: [UInt8]) -> [UInt8] {
        [UInt8(name.utf8.count)] + Array(name.utf8) + [kind.asciiValue ?? 0] + long(payload)
    }

    static func nested(levels: Int) -> [UInt8] {
        (1..<levels).reduce([1, UInt8(ascii: "n"), UInt8(ascii: "V")]) { inner, _ in entry("n", "F", inner) }
    }

    static func random(_ chance: inout SeededChance) -> [UInt8] {
        let telling = Array("FASxtlLdDTIVbBsuif".utf8) + [0, 0, 0, 1, 2, 5, 255]
        return (0..<Int.random(in: 0...30, using: &chance)).map { _ in
            Bool.random(using: &chance)
                ? telling.randomElement(using: &chance) ?? 0 : .random(in: 0...255, using: &chance)
        }
    }

    static func long(_ payload: [UInt8]) -> [UInt8] {
        withUnsafeBytes(of: UInt32(payload.count).bigEndian) { Array($0) } + payload
    }
}
