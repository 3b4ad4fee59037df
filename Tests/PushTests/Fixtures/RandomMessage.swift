import BellhopRules
import Push
import TestSupport
import Testing

/// Messages of every shape and of sizes around the limit.
enum RandomMessage {
    private static let characters: [String] = [
        "a", "Z", " ", "\n", "\t", "\"", "\\", "/", "\u{0}", "\u{1F}", "\u{7F}", "é", "e\u{301}", "ß", "漢", "👍🏽", "🇳🇴",
        "👩‍👩‍👧‍👦", "\u{200D}", "\u{FEFF}", "\u{2028}", "\r\n", "‏", "क्षि",
    ]

    private static let keys = [
        "from", "gcm.x", "google", "type", "targetId", "a", "b", "x_from", "dataOmitted", "", "é",
    ]

    static func make(using generator: inout SeededChance) throws -> PushMessage {
        let platform = DevicePlatform.allCases.randomElement(using: &generator) ?? .ios
        var message = try SamplePushes.plain(platform, notification: generator.next())
        message.title = "t" + text(atMost: 512, &generator)
        message.body = text(atMost: 4000, &generator)
        message.targetID = maybe(&generator) { text(atMost: 255, &$0) }
        message.venueID = maybe(&generator) { text(atMost: 255, &$0) }
        message.imageURL = maybe(&generator) { text(atMost: 1000, &$0) }
        message.collapseKey = maybe(&generator) { text(atMost: 255, &$0) }
        message.link = maybe(&generator) {
            DeepLink(web: text(atMost: 600, &$0), mobile: text(atMost: 600, &$0))
        }
        message.metadata = CanonicalObject(object(&generator))
        message.data = object(&generator)
        message.priority = Priority.allCases.randomElement(using: &generator) ?? .low
        message.expiry = maybe(&generator) { Timestamp(clamping: Int64.random(in: .min ... .max, using: &$0)) }
        message.badge = maybe(&generator) { Int.random(in: .min ... .max, using: &$0) }
        return message
    }

    private static func maybe<Value>(
        _ generator: inout SeededChance,
        _ make: (inout SeededChance) -> Value
    ) -> Value? {
        Bool.random(using: &generator) ? make(&generator) : nil
    }

    /// Returns a text; short texts are as likely as long ones.
    private static func text(atMost longest: Int, _ generator: inout SeededChance) -> String {
        let count = Int.random(in: 0...Int.random(in: 0...longest, using: &generator), using: &generator)
        return (0..<count).reduce(into: "") { text, _ in
            text += characters.randomElement(using: &generator) ?? "-"
        }
    }

    private static func object(_ generator: inout SeededChance) -> JSONObject {
        let count = Int.random(in: 0...Int.random(in: 0...12, using: &generator), using: &generator)
        return JSONObject(
            (0..<count).map { index in
                let key = Bool.random(using: &generator) ? keys.randomElement(using: &generator) ?? "k" : "key\(index)"
                return (key, value(&generator))
            }
        )
    }

    private static func value(_ generator: inout SeededChance) -> JSONValue {
        switch Int.random(in: 0..<6, using: &generator) {
        case 0: .null
        case 1: .bool(Bool.random(using: &generator))
        case 2: .number(JSONNumber(Int64.random(in: .min ... .max, using: &generator)))
        case 3: .array([.string(text(atMost: 40, &generator)), .null])
        case 4: .object(JSONObject([(text(atMost: 10, &generator), .string(text(atMost: 40, &generator)))]))
        default: .string(text(atMost: 200, &generator))
        }
    }
}
