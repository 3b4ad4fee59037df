import AMQP
import TestSupport

/// Properties and headers that have a meaning for the broker, Bellhop or JSON, with meaningless values.
struct HostileProperties {
    var chance: SeededChance

    mutating func properties() -> MessageProperties {
        var properties = MessageProperties()
        properties.contentType = pick([nil, "application/json", "application/cloudevents+json", "\0;;", "x/\u{FFFF}"])
        properties.contentEncoding = pick([nil, nil, "gzip", "\0"])
        properties.correlationID = pick([nil, "\0", String(repeating: "c", count: 255)])
        properties.messageID = pick([nil, nil, "", "\0", "m\u{7f}"])
        properties.timestamp = pick([nil, 0, .max, UInt64(Int64.max) + 1])
        properties.priority = pick([nil, 0, 255])
        properties.type = pick([nil, nil, nil, "security", "\0"])
        properties.appID = pick([nil, nil, nil, "drop", "nosuch"])
        properties.deliveryMode = pick([.persistent, .transient, nil])
        for _ in 0..<Int.random(in: 0...4, using: &chance) {
            properties.headers.entries.append(.init(pick(Self.names), value(depth: 0)))
        }
        if Int.random(in: 0..<12, using: &chance) == 0 { properties.headers["x-death"] = forgedDeath() }
        if Int.random(in: 0..<40, using: &chance) == 0 { properties.headers["large"] = large() }
        return properties
    }

    private static let names = [
        "x-delivery-count", "x-delivery-count", "x-acquired-count", "x-death", "x-first-death-queue",
        "x-last-death-reason", "x-bellhop-dead-id", "x-bellhop-reason", "x-bellhop-attempts", "x-bellhop-failed-at",
        "x-bellhop-origin-headers", "X-Bellhop-Content-Hash", "x-bellhop-redelivered", "traceparent", "ce-id",
        "ce-type",
        "cloudEvents:specversion", "cloudEvents_source", "", "\0", "$table", "same", "same",
        String(repeating: "n", count: 255),
    ]

    private mutating func value(depth: Int) -> FieldValue {
        switch Int.random(in: 0..<(depth < 8 ? 20 : 17), using: &chance) {
        case 0: .int64(.max)
        case 1: .int64(.min)
        case 2: .int64(-1)
        case 3: .int8(-5)
        case 4: .uint8(255)
        case 5: .int32(.min)
        case 6: .uint32(.max)
        case 7: .string("many")
        case 8: .string("\0")
        case 9: .boolean(true)
        case 10: .double(-.greatestFiniteMagnitude)
        case 11: .float(.leastNonzeroMagnitude)
        case 12: .decimal(scale: 255, value: .max)
        case 13: .timestamp(.max)
        case 14: .bytes([0, 255, 0xc3])
        case 15: .void
        case 16: .string("1.0")
        case 17: .array((0..<Int.random(in: 0...3, using: &chance)).map { _ in value(depth: depth + 1) })
        default:
            .table(
                FieldTable(
                    (0..<Int.random(in: 0...3, using: &chance)).map { number in
                        .init(number == 0 ? "n" : "$bytes", value(depth: depth + 1))
                    }
                )
            )
        }
    }

    /// Returns a forged `x-death` header, which brokers before 4.0 accept from any client.
    private mutating func forgedDeath() -> FieldValue {
        let death: FieldTable = [
            "count": pick([.int64(.max), .string("x")]), "reason": pick([.string("rejected"), "expired", 7]),
            "queue": "bellhop.normal", "exchange": "", "time": .timestamp(.max), "routing-keys": .array([.int64(1)]),
        ]
        return pick([.array([.table(death), .table(death)]), .array([.int64(1)]), .table(death), .array([])])
    }

    /// Returns a header close to the size of a frame: with Bellhop's headers in addition, it exceeds the frame.
    private mutating func large() -> FieldValue {
        .string(String(repeating: "x", count: Int.random(in: 120_000...129_000, using: &chance)))
    }

    private mutating func pick<Value>(_ values: [Value]) -> Value {
        values[Int.random(in: values.indices, using: &chance)]
    }
}
