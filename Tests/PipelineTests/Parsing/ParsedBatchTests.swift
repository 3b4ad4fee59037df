import AMQP
import BellhopRules
import IntegrationSupport
import ServiceRuntime
import Settings
import Store
import Testing

@testable import Pipeline

@Suite("Parsed batches")
struct ParsedBatchTests {
    private let broker = MemoryBroker()
    private let names: TopologyNames
    private let keys: [NotificationKey]

    init() throws {
        names = TopologyNames(try #require(Namespace("parsed")))
        let app = try #require(AppID(validating: "drop"))
        let event = try #require(EventID(validating: "e"))
        keys = try ["u", "v", "w"].map { name in
            let user = try #require(UserID(validating: name))
            return NotificationKey(
                recipient: UserKey(app: app, user: user),
                notification: NotificationID(app: app, event: event, user: user)
            )
        }
    }

    private func published(_ body: String, _ type: String = "security") -> IncomingMessage {
        broker.arriving(Array(body.utf8), from: names.lane(.urgent), by: names.events, "drop.\(type)")
    }

    private func internalMessage(_ body: [UInt8], redelivered: Bool = false) -> IncomingMessage {
        let queue = names.resume(.urgent)
        return broker.arriving(body, from: queue, by: names.work, queue, redelivered: redelivered)
    }

    /// Returns one message of each kind.
    private var messages: [IncomingMessage] {
        [
            published(#"{"id":"e","to":{"users":["u","v"]},"title":"Hei","body":"x"}"#),
            published("{"),
            published(#"{"id":"f","to":{"everyone":true},"title":"Hei","body":"x"}"#),
            published(#"{"id":"f"}"#, "event.cancelled"),
            published(#"{"userId":"u","timezone":"Europe/Oslo"}"#, "recipient.upserted"),
            internalMessage(ResumeMessage(keys: Array(keys.prefix(2)), replacesEarlier: true).body),
            internalMessage(BadgeMessage(recipients: keys.map(\.recipient)).body),
            internalMessage(PageMessage.body(FanoutPage(fanout: 1, page: 0, priority: .high)), redelivered: true),
        ]
    }

    private func parsed(_ messages: [IncomingMessage]) throws -> ParsedBatch {
        ParsedBatch(messages, catalogs: try ServerFixture.drop(), names: names, arrival: Timestamp(clamping: 0))
    }

    @Test("each message is parsed into one kind, with its position in the batch")
    func kinds() throws {
        let batch = try parsed(messages)
        #expect(batch.messages.count == 8)
        let positions = [
            batch.records.map(\.index), batch.faults.map(\.index), batch.plans.map(\.index),
            batch.cancellations.map(\.index), batch.feeds.map(\.index), batch.resumed.map(\.index),
            batch.badges.map(\.index), batch.pages.map(\.index),
        ]
        #expect(positions == [[0, 0], [1], [2], [3], [4], [5, 5], [6, 6, 6], [7]])
        #expect(batch.replacements == [5, 7])
        let replacesEarlier = batch.pages.map(\.work.replacesEarlier)
        #expect(replacesEarlier == [true])
    }

    @Test("the log counts records, keys and users, and all other kinds by message")
    func figures() throws {
        let messages = messages
        let batchContext = Batch.Context(
            lane: .urgent,
            drain: DrainSignal(),
            detached: DetachedWork(),
            acknowledge: { _ in }
        )
        let batch = Batch(messages, batchContext, .test)
        let stored = StoredBatch(batch: batch, work: PendingWork(), pages: [])
        let fields = IntakeSummary(try parsed(messages), stored, took: .milliseconds(3)).fields
        let expected: LogFields = [
            "batches": 1, "urgent": 8, "notifications": 2, "refused": 1, "planned": 1, "cancelled": 1, "fed": 1,
            "resumed": 2, "badges": 3, "pages": 1, "longest": .span(.milliseconds(3)),
        ]
        #expect(fields == expected)
    }
}
