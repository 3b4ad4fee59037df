import Testing

@testable import AMQP

@Suite("Texts of connection events")
struct ConnectionEventTests {
    private let refusal = AMQPError(.connectionLost, "cannot read from the broker: it closed the connection")

    @Test(
        "a loss states its cause and the time of the next attempt",
        arguments: [(Duration.milliseconds(1_430), "1.4 s"), (.milliseconds(350), "350 ms"), (.zero, "0 ms")]
    )
    func loss(pause: Duration, words: String) {
        let event = ConnectionEvent.disconnected(refusal, retryIn: pause)
        #expect("\(event)" == "not connected: \(refusal); trying again in \(words)")
    }

    @Test("no event text contains Swift syntax")
    func sentences() {
        let events: [ConnectionEvent] = [
            .connected(host: "127.0.0.1:5672"), .disconnected(refusal, retryIn: nil), .blocked(reason: "low on memory"),
            .unblocked, .subscribed(queue: "q"), .renewed(queue: "q"), .consumerCancelled(queue: "q"),
            .subscriptionFailed(queue: "q", refusal, retryIn: .seconds(2)), .unreadable(queue: "q"),
            .channelClosed(refusal),
        ]
        for event in events {
            let text = "\(event)"
            #expect(!text.contains("(") && !text.contains("Optional") && !text.contains("\""), "\(text)")
        }
        #expect("\(events[0])" == "connected to 127.0.0.1:5672")
    }
}
