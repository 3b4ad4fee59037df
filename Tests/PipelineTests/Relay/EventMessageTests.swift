import AMQP
import BellhopRules
import IntegrationSupport
@testable import Pipeline
import Testing

@Suite("Messages of events")
struct EventMessageTests {
    /// Returns the message of a valid body as `bellhop publish` makes it.
    private func judged(_ body: String) throws -> OutgoingMessage {
        let bytes = Array(body.utf8)
        let envelope = InboundEnvelope(body: bytes, source: .elsewhere)
        let submission = try SubmissionParser(try ServerFixture.shipped()).parse(envelope).get()
        return EventMessage.make(submission, body: bytes, to: "bellhop.events")
    }

    @Test(
        "an event of an outbox gets the message with which bellhop publish sends it",
        arguments: [
            (
                #"{"id":"e1","app":"drop","eventType":"system","to":{"user":"u"},"title":"t","body":"b"}"#,
                "drop.system",
                "e1"
            ),
            (#"{"app":"drop","eventType":"recipient.upserted","userId":"u"}"#, "drop.recipient.upserted", nil),
            (
                #"{"app":"drop","eventType":"reminder.removed","userId":"u","id":"r"}"#, "drop.reminder.removed", nil
            ),
            (#"{"app":"drop","eventType":"event.cancelled","id":"e1"}"#, "drop.event.cancelled", nil),
        ] as [(String, String, String?)]
    )
    func same(body: String, key: String, id: String?) throws {
        let message = EventMessage.make(unjudged: Array(body.utf8), to: "bellhop.events")
        #expect(message.routingKey == key)
        #expect(message.properties.messageID == id)
        #expect(message.properties.contentType == "application/json")
        #expect(message.properties.deliveryMode == .persistent)
        let published = try judged(body)
        #expect(message == published)
    }

    @Test(
        "a body without usable names is published as it is, with the empty routing key",
        arguments: [
            "{}", #"{"app":"drop"}"#, #"{"eventType":"system"}"#, #"{"app":7,"eventType":"system"}"#,
            #"{"app":"Drop","eventType":"system"}"#, #"{"app":"drop","eventType":"a b"}"#, "not JSON",
        ]
    )
    func nameless(body: String) {
        let message = EventMessage.make(unjudged: Array(body.utf8), to: "bellhop.events")
        #expect(message.routingKey == "")
        #expect(message.properties.messageID == nil)
        #expect(message.body == Array(body.utf8))
    }
}
