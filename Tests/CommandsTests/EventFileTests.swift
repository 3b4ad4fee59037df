import AMQP
import CommandLineSupport
import Foundation
import IntegrationSupport
import Postgres
import ServiceRuntime
import TestSupport
import Testing

@testable import Commands

@Suite("bellhop validate and publish")
struct EventFileTests {
    private let good =
        #"{"id": "a", "app": "drop", "eventType": "security", "to": {"user": "u1"}, "#
        + #""data": {"device": "iPhone", "place": "Oslo"}}"#
    private let bad = #"{"id": "b", "app": "drop", "eventType": "security"}"#

    @Test("validate reports for each line whether it would be accepted")
    func validate() async throws {
        try await CommandFolder.withPrompt { prompt, _ in
            var prompt = prompt
            prompt.input = good
            let fine = await prompt.run("validate", "-")
            #expect(fine.code == .done)
            #expect(fine.output.contains("line 1: ok, drop.security a to 1 user, urgent lane"))
            prompt.input = good + "\n" + bad + "\n"
            let mixed = await prompt.run("validate", "-")
            #expect(mixed.code == .badInput)
            #expect(mixed.output.contains("line 2: rejected, missing-audience"))
            #expect(mixed.output.contains("1 of 2 would be accepted"))
        }
    }

    @Test("a slip in an event that is accepted gets a warning: members without effect, passed instants, repeated ids")
    func slips() async throws {
        let event = { (id: String, rest: String) in
            #"{"id":"\#(id)","app":"drop","eventType":"system","to":{"user":"u1"},"title":"t","body":"b"\#(rest)}"#
        }
        let lines = [
            event("a", #","deliver_at":"2099-01-01T00:00:00Z","colour":"red""#),
            event("b", #","deliverAt":"2020-01-01T00:00:00Z""#), event("c", #","expiresAt":"2020-01-01T00:00:00Z""#),
            event("d", ""), event("d", ""), event("d", #","route":"/other""#), event("e", ""),
        ]
        try await CommandFolder.withPrompt { prompt, _ in
            var prompt = prompt
            prompt.input = lines.joined(separator: "\n")
            let answer = await prompt.run("validate", "-")
            #expect(answer.code == .done)
            let warnings = answer.output.split(separator: "\n").filter { $0.hasPrefix("  warning: ") }.map(String.init)
            #expect(
                warnings == [
                    "  warning: an event has no member deliver_at, so it has no effect, did you mean deliverAt?",
                    "  warning: an event has no member colour, so it has no effect",
                    "  warning: deliverAt has passed, so the event is delivered immediately",
                    "  warning: expiresAt has passed, so nothing is pushed",
                    "  warning: the id d is also on line 4, so a user of both is notified once",
                    "  warning: the id d is also on line 4 with other content: for a user of both, the later one becomes "
                        + "a dead letter (id-conflict)",
                ]
            )
            #expect(answer.output.hasSuffix("7 of 7 would be accepted, 5 of them with a warning"), "\(answer.output)")
            let json = await prompt.run("validate", "-", "--json").output
            #expect(json.contains(#""line":2,"valid":true,"warnings":["deliverAt has passed"#), "\(json)")
        }
    }

    @Test("an event for everyone shows the size of everyone, and without a database how a user belongs to it")
    func everyone() async throws {
        let event = #"{"id":"a","app":"drop","eventType":"system","to":{"everyone":true},"title":"t","body":"b"}"#
        try await CommandFolder.withPrompt { prompt, _ in
            var prompt = prompt
            prompt.input = event
            let rule = "everyone is each user of the app with a stored recipient.upserted"
            let answer = await prompt.run("validate", "-").output
            #expect(answer.contains("to everyone, bulk lane\n\(rule)\n"), "\(answer)")
            let away = prompt.with("BELLHOP_DATABASE_URL", "postgres://127.0.0.1:1/none")
            let without = await away.run("validate", "-")
            #expect(without.code == .done && without.output == answer, "\(without.output)")
            prompt.input = good
            #expect(await !prompt.run("validate", "-").output.contains("everyone"))
        }
    }

    @Test(
        "an event for everyone counts the users who belong to it",
        .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL")
    )
    func everyoneCounted() async throws {
        let event = #"{"id":"a","app":"drop","eventType":"system","to":{"everyone":true},"title":"t","body":"b"}"#
        try await ServerFixture.withSchema { servers in
            let recipient = "INSERT INTO recipients (app, user_id, source_time) VALUES ('drop', 'ada', now())"
            _ = try await servers.owner.run(Statement(recipient), [])
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                var prompt = prompt
                prompt.input = event
                let text = await prompt.run("validate", "-").output
                let words = "everyone in drop is 1 user now, each with a stored recipient.upserted\n"
                #expect(text.contains(words), "\(text)")
                let json = await prompt.run("validate", "-", "--json").output
                let count =
                    #""everyone":[{"app":"drop","users":1,"usersIsCapped":false,"others":0,"othersIsCapped":false}]"#
                #expect(json.contains(count), "\(json)")
            }
        }
    }

    @Test("a line that is not JSON does not hide the others, and positions are those of the file")
    func malformed() async throws {
        try await CommandFolder.withPrompt { prompt, _ in
            var prompt = prompt
            prompt.input = "not json\n\n" + good + "\n{oops}\n"
            let answer = await prompt.run("validate", "-")
            #expect(answer.code == .badInput)
            let lines = answer.output.split(separator: "\n")
            #expect(lines.count == 4, "\(answer.output)")
            #expect(answer.output.contains("(line 1, column 2, byte 1)"), "\(answer.output)")
            #expect(answer.output.contains("line 3: ok"), "\(answer.output)")
            let offset = 10 + good.utf8.count + 1 + 1
            let place = "line 4: rejected, malformed-json: unexpected character (line 4, column 2, byte \(offset))"
            #expect(answer.output.contains(place), "\(answer.output)")
            #expect(answer.output.hasSuffix("1 of 3 would be accepted"), "\(answer.output)")
            let json = await prompt.run("validate", "-", "--json")
            #expect(json.output.contains("(line 4, column 2, byte \(offset))"), "\(json.output)")
            prompt.input = String(good.dropLast(20)) + "\n" + good
            let torn = await prompt.run("validate", "-")
            #expect(torn.output.contains("line 2: ok"), "\(torn.output)")
        }
    }

    @Test("an event over several lines is one message, and several such events get the advice to use one line each")
    func severalLines() async throws {
        try await CommandFolder.withPrompt { prompt, _ in
            var prompt = prompt
            let wrapped = good.replacingOccurrences(of: #", "data""#, with: ",\n  \"data\"")
            prompt.input = "\n" + wrapped + "\n"
            let one = await prompt.run("validate", "-")
            #expect(one.output == "line 2: ok, drop.security a to 1 user, urgent lane\n1 of 1 would be accepted")
            prompt.input = wrapped + "\n" + wrapped
            let two = await prompt.run("validate", "-").output
            #expect(
                two.contains("(line 3, column 1, byte \(wrapped.utf8.count + 1)); write each event on one line"),
                "\(two)"
            )
            prompt.input = "{\n  \"id\": nonsense\n}\n"
            let wrong = await prompt.run("validate", "-")
            #expect(wrong.output.contains("(line 2, column 10"), "\(wrong.output)")
            #expect(wrong.output.hasSuffix("0 of 1 would be accepted"), "\(wrong.output)")
        }
    }

    @Test("validate warns of a toggle for a type that the catalogue does not have")
    func unknownToggle() async throws {
        try await CommandFolder.withPrompt { prompt, _ in
            var prompt = prompt
            prompt.input =
                #"{"app": "drop", "eventType": "recipient.upserted", "userId": "u1", "#
                + #""preferences": {"eventToggles": {"securty": false, "system": true}}}"#
            let answer = await prompt.run("validate", "-")
            #expect(answer.code == .done)
            let warning =
                "drop has no type securty, so this toggle in eventToggles has no effect, did you mean security?"
            let count = "1 of 1 would be accepted, 1 of them with a warning"
            let words = "line 1: ok, drop.recipient.upserted\n  warning: \(warning)\n\(count)"
            #expect(answer.output == words)
            let json = await prompt.run("validate", "-", "--json")
            #expect(json.output.contains(#""warnings":["\#(warning)"]"#), "\(json.output)")
            prompt.input = prompt.input.replacingOccurrences(of: "securty", with: "security")
            let right = await prompt.run("validate", "-", "--json")
            #expect(right.output == #"{"valid":1,"events":[{"line":1,"valid":true}]}"#)
        }
    }

    @Test("validate checks instants against the clock, as a worker does")
    func tooFarAhead() async throws {
        try await CommandFolder.withPrompt { prompt, _ in
            let days = { (count: Double) in
                Date(timeIntervalSinceNow: count * 86_400).formatted(.iso8601)
            }
            var prompt = prompt
            prompt.input = [360, 370].map { good.dropLast() + #", "deliverAt": "\#(days($0))"}"# }.joined(
                separator: "\n"
            )
            let answer = await prompt.run("validate", "-")
            #expect(answer.code == .badInput)
            #expect(answer.output.contains("line 1: ok"))
            #expect(answer.output.contains("line 2: rejected, invalid-field at /deliverAt: expected an instant within"))
        }
    }

    @Test("an empty or missing file is bad input")
    func nothing() async throws {
        try await CommandFolder.withPrompt { prompt, folder in
            #expect(await prompt.run("validate", "-").code == .badInput)
            let absent = await prompt.run("validate", folder.appendingPathComponent("no").path)
            #expect(absent.code == .badInput)
            #expect(absent.complaints.contains("cannot be read"))
        }
    }

    @Test("a file with one invalid event publishes nothing", .enabled(if: BothServers.isThere, BothServers.absence))
    func refusal() async throws {
        try await ServerFixture.withTopology { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                var prompt = prompt
                prompt.input = good + "\n" + bad
                let answer = await prompt.run("publish", "-")
                #expect(answer.code == .badInput)
                #expect(answer.complaints.contains("nothing was published"))
                prompt.input = good
                #expect(await prompt.run("publish", "-").output == "published 1 of 1, confirmed by the broker")
            }
            let ids = try await BrokerSession.with(try servers.broker, name: "test") {
                [names = servers.names] session in
                var ids: [String?] = []
                while let message = try session.get(names.lane(.urgent)) { ids.append(message.properties.messageID) }
                return ids
            }
            #expect(ids == ["a"])
        }
    }

    @Test("publish without a broker reports that it waits, and exits with 69")
    func noBroker() async throws {
        try await CommandFolder.withPrompt { prompt, _ in
            var prompt = prompt.with("BELLHOP_AMQP_URL", "amqp://127.0.0.1:1")
            prompt.input = good
            let answer = await prompt.run("publish", "-")
            #expect(answer.code == .unavailable)
            let words = "bellhop: waiting 30s at most for the broker: "
            #expect(answer.complaints.hasPrefix(words), "\(answer.complaints)")
        }
    }

    @Test(
        "a rejected log-in and a namespace without an exchange are reported without a wait",
        .enabled(if: BothServers.isThere, BothServers.absence)
    )
    func refusedLogIn() async throws {
        try await CommandFolder.withPrompt { prompt, _ in
            let url = try #require(Servers.amqpURL)
            var parts = try #require(URLComponents(string: url))
            parts.password = "wrong"
            let password = parts.string ?? ""
            parts = try #require(URLComponents(string: url))
            parts.path = "/no-such-host"
            let host = parts.string ?? ""
            for (address, namespace, code) in [
                (password, "bellhop", ExitCode.unavailable), (host, "bellhop", .unavailable),
                (url, "no_such_namespace_here", .configuration),
            ] {
                var prompt = prompt.with("BELLHOP_AMQP_URL", address).with("BELLHOP_NAMESPACE", namespace)
                prompt.input = good
                let answer = await prompt.run("publish", "-")
                #expect(answer.code == code, "\(answer.complaints)")
                #expect(!answer.complaints.contains("waiting"), "\(answer.complaints)")
                #expect(answer.output.isEmpty)
            }
        }
    }

    @Test("validate shows the value at the place of a fault, and returns an object as JSON")
    func shown() async throws {
        try await CommandFolder.withPrompt { prompt, _ in
            var prompt = prompt
            prompt.input = #"{"id":"x","app":"drop","eventType":"system","to":{"user":"u"},"deliverAt":"tomorrow"}"#
            let answer = await prompt.run("validate", "-")
            #expect(answer.output.contains(#"at /deliverAt: "#), "\(answer.output)")
            #expect(answer.output.contains(#"; it is "tomorrow""#), "\(answer.output)")
            prompt.input = #"{"id":"x","app":"drop","eventType":"sytem","to":{"user":"u"}}"#
            let slip = await prompt.run("validate", "-")
            #expect(slip.output.contains(#"; it is "sytem", did you mean system?"#), "\(slip.output)")
            prompt.input = #"{"id":"x","app":"dorp","eventType":"system","to":{"user":"u"}}"#
            let app = await prompt.run("validate", "-")
            #expect(app.output.contains("did you mean drop?"), "\(app.output)")
            let json = await prompt.run("validate", "-", "--json")
            #expect(json.output.hasPrefix(#"{"valid":0,"events":[{"line":1,"valid":false,"#), "\(json.output)")
        }
    }
}
