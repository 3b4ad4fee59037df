import BellhopRules
import Push
import Testing

@Suite("Headers of a message to a browser")
struct WebPushHeaderTests {
    private func headers(_ message: PushMessage) -> [String: String] {
        let headers = WebPushRequest.headers(of: message, now: SamplePushes.now)
        #expect(Set(headers.map(\.name)).count == headers.count)
        return Dictionary(headers.map { ($0.name, $0.value) }) { first, _ in first }
    }

    @Test(
        "the time to live ends with the message, and is at least one second and at most four weeks",
        arguments: [
            (nil, "2419200"), (3600, "3600"), (0, "1"), (-100, "1"), (1, "1"), (10_000_000, "2419200"),
        ] as [(Int64?, String)]
    )
    func timeToLive(_ seconds: Int64?, _ expected: String) throws {
        var message = try Browsers.message()
        message.expiry = seconds.map { Timestamp(clamping: SamplePushes.now.microseconds + $0 * 1_000_000) }
        #expect(headers(message)["ttl"] == expected)
    }

    @Test("no expiry overflows", arguments: [Int64.min, .max])
    func extremes(_ microseconds: Int64) throws {
        var message = try Browsers.message()
        message.expiry = Timestamp(clamping: microseconds)
        #expect(["1", "2419200"].contains(headers(message)["ttl"]))
    }

    @Test("the urgency is the priority", arguments: Priority.allCases)
    func urgency(_ priority: Priority) throws {
        var message = try Browsers.message()
        message.priority = priority
        #expect(headers(message)["urgency"] == priority.rawValue)
    }

    @Test("the topic is 32 hex digits, equal for a repeat or the same collapse key, and different otherwise")
    func topic() throws {
        var first = try Browsers.message(notification: 1)
        var second = try Browsers.message(notification: 2)
        let topic = try #require(headers(first)["topic"])
        #expect(topic.utf8.count == 32 && topic.allSatisfy(\.isHexDigit))
        #expect(headers(first)["topic"] == topic)
        #expect(headers(second)["topic"] != topic)
        first.collapseKey = "score: 2–1 ⚽️"
        second.collapseKey = "score: 2–1 ⚽️"
        #expect(headers(first)["topic"] == headers(second)["topic"])
        #expect(headers(first)["topic"] != topic)
    }

    @Test("the encoding is stated once")
    func encoding() throws {
        let headers = headers(try Browsers.message())
        #expect(headers["content-encoding"] == "aes128gcm")
        #expect(headers["content-type"] == "application/octet-stream")
        #expect(headers.count == 5)
    }
}
