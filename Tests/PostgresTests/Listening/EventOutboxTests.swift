import Testing

@testable import Postgres

@Suite("Events for a slow consumer")
struct EventOutboxTests {
    @Test("a slow consumer receives an overflow event at the place of the dropped events")
    func overflow() async {
        let (stream, continuation) = AsyncStream.makeStream(
            of: NotificationListener.Event.self,
            bufferingPolicy: .bufferingOldest(3)
        )
        var outbox = EventOutbox(continuation)
        var events = stream.makeAsyncIterator()
        for number in 0..<5 { outbox.hand(over: .notification(channel: "c", payload: "\(number)")) }
        #expect(outbox.owesOverflow)
        outbox.tellOverflow()
        #expect(outbox.owesOverflow)
        #expect(await events.next()?.payload == "0")
        #expect(await events.next()?.payload == "1")
        outbox.hand(over: .notification(channel: "c", payload: "5"))
        #expect(!outbox.owesOverflow)
        #expect(await events.next()?.payload == "2")
        #expect(await events.next()?.payload == "overflowed")
        #expect(await events.next()?.payload == "5")
    }
}

extension NotificationListener.Event {
    fileprivate var payload: String? {
        switch self {
        case .notification(_, let payload): payload
        case .overflowed: "overflowed"
        case .listening, .interrupted: nil
        }
    }
}
