import AMQP
import BellhopRules
import IntegrationSupport
import Sandbox
import Store
import TestSupport
import Testing

@testable import Pipeline

@Suite(
    "Resumes",
    .limitedConcurrency,
    .enabled(
        if: Servers.amqpURL != nil && Servers.databaseURL != nil,
        "needs BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL"
    ),
    .timeLimit(.ofTest)
)
struct ResumeTests {
    @Test("a resume that meets a locked row waits for it, and the push is sent soon after the lock has ended")
    func lockedRow() async throws {
        try await ProviderPeer.run { peer in
            let pipeline = peer.pipeline
            try await peer.register([("u1", "t1")])
            peer.sandbox.setFaults([SandboxFault(.fcm, .answer(.init(status: 503))).limited(count: 1)])
            try await peer.publish(["e1"], to: ["u1"])
            try await pipeline.wait(for: 1, "SELECT count(*) FROM deliveries WHERE state = 'retrying'")
            try await RowLock.hold(on: pipeline.servers, "SELECT FROM ledger FOR UPDATE") {
                // Its resume arrives when it is due, and again.
                try await pipeline.wait(
                    for: 1,
                    "SELECT count(*) FROM deliveries WHERE due_at < now() - interval '3 s'"
                )
            }
            try await pipeline.wait(for: 1, "SELECT count(*) FROM deliveries WHERE state = 'delivered'")
            #expect(try await peer.ledger() == ["u1|delivered|2"])
        }
    }

    @Test("a resume after a redelivery waits for a retrying delivery that is not due yet, and sends it")
    func replacement() async throws {
        try await ProviderPeer.run { peer in
            let pipeline = peer.pipeline
            try await peer.register([("u1", "t1")])
            try await peer.publish(["e1"], to: ["u1"])
            try await peer.waitUntilSettled(1)
            // The state that a worker leaves if it dies before it publishes the resume.
            _ = try await pipeline.servers.owner.run(
                "UPDATE deliveries SET state = 'retrying', due_at = now() + interval '3 s'",
                []
            )
            let id = try #require(try await pipeline.servers.column("SELECT id FROM notifications").first ?? nil)
            let key = NotificationKey(
                recipient: UserKey(
                    app: try #require(AppID(validating: "drop")),
                    user: try #require(UserID(validating: "u1"))
                ),
                notification: try #require(NotificationID(validating: id))
            )
            try await pipeline.publish(
                ResumeMessage.messages(for: [key], replacingEarlier: true).map { resume in
                    OutgoingMessage(
                        exchange: pipeline.servers.names.work,
                        routingKey: pipeline.servers.names.resume(.normal),
                        properties: MessageProperties(contentType: "application/json"),
                        body: resume.body
                    )
                }
            )
            try await peer.waitUntilSettled(1)
            #expect(try await peer.ledger() == ["u1|delivered|2"])
        }
    }

    @Test("a resume in the form of a newer release is a dead letter, and the deliveries that it names are still sent")
    func newerForm() async throws {
        try await ProviderPeer.run { peer in
            let pipeline = peer.pipeline
            try await peer.register([("u1", "t1")])
            try await peer.publish(["e1"], to: ["u1"])
            try await peer.waitUntilSettled(1)
            // The state that a newer worker leaves after it has scheduled another attempt.
            _ = try await pipeline.servers.owner.run("UPDATE deliveries SET state = 'retrying', due_at = now()", [])
            let id = try #require(try await pipeline.servers.column("SELECT id FROM notifications").first ?? nil)
            let body = #"{"version":2,"notifications":[{"app":"drop","user":"u1","id":"\#(id)"}]}"#
            try await pipeline.publish([
                OutgoingMessage(
                    exchange: pipeline.servers.names.work,
                    routingKey: pipeline.servers.names.resume(.normal),
                    properties: MessageProperties(contentType: "application/json"),
                    body: Array(body.utf8)
                )
            ])
            try await pipeline.wait(
                for: 1,
                "SELECT count(*) FROM dead_letters WHERE stage = 'resume' AND reason = 'newer-message'"
            )
            try await pipeline.servers.pass("10 min", since: "due_at", in: "ledger")
            try await peer.waitUntilSettled(1)
            let ledger = try await peer.ledger()
            #expect(ledger == ["u1|delivered|2"])
        }
    }

    @Test("a resume states whether it follows a redelivery, and without the member it does not")
    func words() throws {
        let key = NotificationKey(
            recipient: UserKey(
                app: try #require(AppID(validating: "drop")),
                user: try #require(UserID(validating: "u1"))
            ),
            notification: NotificationID(bits: 7)
        )
        for replacesEarlier in [true, false] {
            let message = ResumeMessage(keys: [key], replacesEarlier: replacesEarlier)
            #expect(InternalMessage.read(message.body) == .success(.resume(message)))
        }
    }

    @Test("a resume is readable for a user with the longest name and the maximum number of notifications")
    func longest() throws {
        let recipient = UserKey(
            app: try #require(AppID(validating: "drop")),
            user: try #require(UserID(validating: String(repeating: "\"", count: 255)))
        )
        let keys = (0..<ResumeMessage.limit).map { number in
            NotificationKey(recipient: recipient, notification: NotificationID(bits: UInt64(number)))
        }
        let messages = ResumeMessage.messages(for: keys)
        #expect(messages.count == 1)
        for message in messages {
            #expect(message.body.count > JSONParser.Limits.event.bytes)
            #expect(InternalMessage.read(message.body) == .success(.resume(message)))
        }
    }
}
