import Foundation
import Sandbox
import TestSupport
import Testing

/// Checks that secrets and personal data reach only their destinations.
///
/// Each input has a separate marker, and every output of the program is searched for all of them.
@Suite(
    "Markers of secrets",
    .limitedProofConcurrency,
    .enabled(if: Proof.hasServers, Proof.absence),
    .timeLimit(.ofProof)
)
struct SecretMarkerTests {
    private static let weather = [
        SandboxFault(.fcm, .answer(.init(status: 400, reason: "INVALID_ARGUMENT"))),
        SandboxFault(.expo, .answer(.init(status: 500))),
        SandboxFault(.webpush, .answer(.init(status: 403))),
    ]

    @Test("no log, metric, dead-letter listing or argument contains a token, key, password or text of a message")
    func running() async throws {
        try await SecretMarkerFixture.with { fixture in
            try await fixture.register()
            try await fixture.event("well-1")
            fixture.sandbox.setFaults(Self.weather + [Self.mailFault(.rcpt, 550, &fixture)])
            try await fixture.event("storm-1")
            fixture.sandbox.setFaults([
                SandboxFault(.fcm, .drop), SandboxFault(.webpush, .answer(.init(status: 413))),
                Self.mailFault(.auth, 535, &fixture),
            ])
            try await fixture.event("storm-2")
            try await fixture.faults()
            let (stage, markers) = (fixture.stage, fixture.markers)
            for (role, name) in [(fixture.worker, "worker"), (fixture.scheduler, "scheduler")] {
                markers.expectNone(in: try await role.metrics(), of: "the metrics of the \(name)")
            }
            let arguments = SecretMarkers.processArguments()
            #expect(arguments.contains("worker"), "the list of processes lacks the worker")
            markers.expectNone(in: arguments, of: "the list of processes")
            let commands = [["status"], ["status", "--json"], ["check-config"], ["check-config", "--json"]]
            let listings = [["groups"], ["list"], ["list", "--json"]].map { ["dead-letters"] + $0 }
            try await expectNone(fixture, commands + listings)
            let items = try await stage.column("SELECT dead_id FROM dead_letters ORDER BY dead_id")
            let shown = items.map { ["dead-letters", "show", $0] }
            try await expectNone(fixture, shown, except: [SecretMarkers.misplaced])
            let explained = ["well-1", "storm-1", "storm-2"].flatMap { event in
                ["well", "dead", "provider"].map { ["explain", "--app", "drop", "--user", $0, "--event", event] }
            }
            // The command is asked for one notification and shows its text.
            try await expectNone(fixture, explained, except: SecretMarkers.personal)
            for query in Self.listings {
                markers.expectNone(in: try await stage.column(query).joined(separator: "\n"), of: query)
            }
            for role in [fixture.worker, fixture.scheduler] { try await role.drain() }
            for (role, name) in [(fixture.worker, "worker"), (fixture.scheduler, "scheduler")] {
                markers.expectNone(in: role.child.log, of: "the log of the \(name)")
            }
            #expect(fixture.worker.child.log.contains(" DEBUG "), "the worker does not tell all it can")
            // The markers have reached their destinations.
            let arrived = fixture.sandbox.received().map { "\($0.token ?? "") \($0.body)" }.joined(separator: "\n")
            let found = markers.found(in: arrived)
            for what in ["fcm-token", "expo-device", "endpoint", "address", "title", "body"] {
                #expect(found.contains(what), "\(what) never arrived")
            }
        }
    }

    /// Runs commands concurrently, four at a time, and searches their output.
    private func expectNone(_ fixture: SecretMarkerFixture, _ commands: [[String]], except kinds: [String] = [])
        async throws
    {
        for start in stride(from: 0, to: commands.count, by: 4) {
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for command in commands[start..<min(start + 4, commands.count)] {
                    tasks.addTask {
                        let answer = try await fixture.says(command)
                        #expect(!answer.isEmpty, "\(command) said nothing")
                        fixture.markers.expectNone(in: answer, of: "\(command)", except: kinds)
                    }
                }
                try await tasks.waitForAll()
            }
        }
    }

    /// Returns a fault of a mail server that repeats the address and the subject in its response.
    private static func mailFault(_ phase: DialoguePhase, _ code: Int, _ fixture: inout SecretMarkerFixture)
        -> SandboxFault
    {
        let words = "5.1.1 <\(fixture.make("address"))> \(fixture.make("title"))"
        return SandboxFault(.email, .answer(.init(status: code, reason: words))).inDialogue(at: phase)
    }

    /// Queries for the listed columns of dead letters, without the bodies, and for the ledger.
    private static let listings = [
        """
        SELECT concat_ws('|', dead_id, fingerprint, stage, reason, pointer, error, provider, app, event_type, event_id,
                         user_id, attempts) FROM dead_letters
        """,
        "SELECT concat_ws('|', state, reason, target, provider_message_id, decision) FROM deliveries",
        "SELECT concat_ws('|', app, provider, platform, reason) FROM breakers",
        "SELECT concat_ws('|', id, revoke_reason) FROM push_subscriptions",
    ]

    @Test("the output of a failing command contains no password of a URL and no content of a key file")
    func failing() async throws {
        try await SecretMarkerFixture.with { fixture in
            let password = fixture.make("url-password")
            let refused = fixture.stage.servers.amqp.replacing(/:\/\/[^@]*@/, with: "://guest:\(password)@")
            let cases: [(words: [String], changes: [String: String])] = [
                (["topology", "check"], ["BELLHOP_AMQP_URL": refused]),
                (["worker"], ["BELLHOP_AMQP_URL": refused]),
                (["status"], ["BELLHOP_AMQP_URL": "amqp://bellhop:\(password)@127.0.0.1:1/"]),
                (
                    ["migrate", "--check"],
                    ["BELLHOP_DATABASE_URL": "postgres://bellhop:\(password)@127.0.0.1:1/bellhop"]
                ),
                (["worker"], ["BELLHOP_DATABASE_URL": "postgres://bellhop:\(password)@127.0.0.1:1/bellhop"]),
                (["check-config"], ["BELLHOP_DATABASE_URL": "postgres://bellhop:\(password)@127.0.0.1:1/bellhop"]),
                (["check-config"], ["BELLHOP_AMQP_URL": "amqp://bellhop:\(password)@:none/%zz"]),
                (["check-config"], ["BELLHOP_DATABASE_URL": "postgres://bellhop:\(password)@db:port/bellhop?x=%zz"]),
                (["migrate"], ["BELLHOP_DATABASE_URL": "postgres://bellhop:\(password)@db:port/bellhop?x=%zz"]),
                (["migrate"], ["BELLHOP_DATABASE_URL": "host=127.0.0.1 port=1 password=\(password)"]),
                (["check-config"], ["BELLHOP_MANAGEMENT_URL": "http://bellhop:\(password)@127.0.0.1:1"]),
                (["status"], ["BELLHOP_MANAGEMENT_URL": "http://bellhop:\(password)@127.0.0.1:1"]),
            ]
            let answers = try await withThrowingTaskGroup(of: (String, String).self) { [fixture] tasks in
                for (words, changes) in cases {
                    tasks.addTask { ("\(words) with \(changes.keys)", try await fixture.says(words, changes)) }
                }
                return try await tasks.reduce(into: []) { $0.append($1) }
            }
            for (what, answer) in answers {
                fixture.markers.expectNone(in: answer, of: what)
                #expect(!answer.isEmpty, "\(what) said nothing")
            }
            try await brokenFiles(&fixture)
        }
    }

    /// Checks key files with wrong content, an operator's mistake that must not reach the log.
    private func brokenFiles(_ fixture: inout SecretMarkerFixture) async throws {
        let folder = fixture.stage.folder
        let secret = fixture.make("file")
        let contents = [
            "account-drop.json": #"{"type":"service_account","private_key":"\#(secret)"}"#, "apns-drop.p8": secret,
            "vapid-key": secret, "mail-password": "\(secret)\n\(secret)", "unsubscribe-key": String(secret.prefix(12)),
            "expo-token": "\(secret) \(secret)",
        ]
        for (name, text) in contents { try Data(text.utf8).write(to: folder.appendingPathComponent(name)) }
        let answer = try await fixture.says(["check-config"])
        fixture.markers.expectNone(in: answer, of: "check-config with broken files")
        for name in contents.keys { #expect(answer.contains(name), "\(name) is not complained of:\n\(answer)") }
        let event = folder.appendingPathComponent("event.json")
        try Data(#"{"id":"e","app":"drop","eventType":"security","to":7,"title":"\#(secret)"}"#.utf8).write(to: event)
        for command in ["validate", "publish"] {
            fixture.markers.expectNone(in: try await fixture.says([command, event.path]), of: command)
        }
    }
}
