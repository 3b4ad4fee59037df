import AMQP
import BellhopRules
import Sandbox
import Store
import TestSupport
import Testing
import Workbench

@testable import Pipeline

@Suite(
    "Resumes",
    .inTurn,
    .enabled(
        if: Servers.amqpURL != nil && Servers.databaseURL != nil,
        "needs BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL"
    ),
    .timeLimit(.ofTest)
)
struct ResumeTests {
    @Test("a resume that meets a locked row waits for it: the push goes out soon after the lock has ended")
    func lockedRow() async throws {
        try await Counterpart.run { counterpart in
            let rig = counterpart.rig
            try await counterpart.register([("u1", "t1")])
            counterpart.sandbox.setFaults([SandboxFault(.fcm, .answer(.init(status: 503))).limited(count: 1)])
            try await counterpart.publish(["e1"], to: ["u1"])
            try await rig.wait(for: 1, "SELECT count(*) FROM deliveries WHERE state = 'retrying'")
            try await RowLock.hold(on: rig.bench, "SELECT FROM ledger FOR UPDATE") {
                // Its resume comes when it is due, and again.
                try await rig.wait(
                    for: 1,
                    "SELECT count(*) FROM deliveries WHERE due_at < now() - interval '3 s'"
                )
            }
            try await rig.wait(for: 1, "SELECT count(*) FROM deliveries WHERE state = 'delivered'")
            #expect(try await counterpart.ledger() == ["u1|delivered|2"])
        }
    }

    @Test("the heir of a message that was handed out before waits for what is retried, and brings it itself")
    func heir() async throws {
        try await Counterpart.run { counterpart in
            let rig = counterpart.rig
            try await counterpart.register([("u1", "t1")])
            try await counterpart.publish(["e1"], to: ["u1"])
            try await counterpart.waitUntilSettled(1)
            // As a worker leaves it that dies before it publishes the resume.
            _ = try await rig.bench.owner.run(
                "UPDATE deliveries SET state = 'retrying', due_at = now() + interval '3 s'",
                []
            )
            let id = try #require(try await rig.bench.column("SELECT id FROM notifications").first ?? nil)
            let key = NotificationKey(
                recipient: RecipientKey(
                    app: try #require(AppID(validating: "drop")),
                    user: try #require(UserID(validating: "u1"))
                ),
                notification: try #require(NotificationID(validating: id))
            )
            try await rig.publish(
                ResumeMessage.messages(for: [key], areHeirs: true).map { resume in
                    OutgoingMessage(
                        exchange: rig.bench.names.work,
                        routingKey: rig.bench.names.resume(.normal),
                        properties: MessageProperties(contentType: "application/json"),
                        body: resume.body
                    )
                }
            )
            try await counterpart.waitUntilSettled(1)
            #expect(try await counterpart.ledger() == ["u1|delivered|2"])
        }
    }

    @Test("a resume of a form of a newer release is a dead letter, and what it named is brought all the same")
    func newerForm() async throws {
        try await Counterpart.run { counterpart in
            let rig = counterpart.rig
            try await counterpart.register([("u1", "t1")])
            try await counterpart.publish(["e1"], to: ["u1"])
            try await counterpart.waitUntilSettled(1)
            // As a newer worker leaves it that has asked for another attempt.
            _ = try await rig.bench.owner.run("UPDATE deliveries SET state = 'retrying', due_at = now()", [])
            let id = try #require(try await rig.bench.column("SELECT id FROM notifications").first ?? nil)
            let body = #"{"version":2,"notifications":[{"app":"drop","user":"u1","id":"\#(id)"}]}"#
            try await rig.publish([
                OutgoingMessage(
                    exchange: rig.bench.names.work,
                    routingKey: rig.bench.names.resume(.normal),
                    properties: MessageProperties(contentType: "application/json"),
                    body: Array(body.utf8)
                )
            ])
            try await rig.wait(
                for: 1,
                "SELECT count(*) FROM dead_letters WHERE stage = 'resume' AND reason = 'newer-message'"
            )
            try await rig.bench.pass("10 min", since: "due_at", in: "ledger")
            try await counterpart.waitUntilSettled(1)
            let ledger = try await counterpart.ledger()
            #expect(ledger == ["u1|delivered|2"])
        }
    }

    @Test("a resume says whether it is an heir, and one without the word is none")
    func words() throws {
        let key = NotificationKey(
            recipient: RecipientKey(
                app: try #require(AppID(validating: "drop")),
                user: try #require(UserID(validating: "u1"))
            ),
            notification: NotificationID(bits: 7)
        )
        for isHeir in [true, false] {
            let message = ResumeMessage(keys: [key], isHeir: isHeir)
            #expect(InternalMessage.read(message.body) == .success(.resume(message)))
        }
    }

    @Test("a resume for a user of the longest name with as much due as a message names is read again")
    func longest() throws {
        let recipient = RecipientKey(
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
