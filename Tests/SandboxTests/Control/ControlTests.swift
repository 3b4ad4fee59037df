import BellhopRules
import HTTPTransfer
import TestSupport
import Testing

@testable import Sandbox

@Suite("The control interface", .limitedConcurrency, .timeLimit(.ofTest))
struct ControlTests {
    private func message(_ token: String, _ tag: String) -> String {
        #"{"message":{"token":"\#(token)","android":{"notification":{"tag":"\#(tag)"}}}}"#
    }

    @Test("received requests are shown in order, with their answers and without their authorization")
    func showsReceived() async throws {
        try await withSandbox { client in
            let bearer = try await client.accessToken()
            _ = try await client.send(message("device-1", "noti_1"), bearer: bearer)
            _ = try await client.send(message("dead-2", "noti_2"), bearer: bearer)
            _ = try await client.send("nonsense", bearer: bearer)
            let answer = try await client.control(.get, "/received?provider=fcm")
            #expect(answer.status == 200)
            #expect(!String(decoding: answer.body, as: UTF8.self).contains(bearer))
            let shown = try #require(answer.json?.array)
            #expect(shown.count == 3)
            #expect(shown[0]["provider"] == "fcm")
            #expect(shown[0]["method"] == "POST")
            #expect(shown[0]["path"]?.string == client.projectPath)
            #expect(shown[0].at("headers/authorization") == "Bearer [masked]")
            #expect(shown[0].at("headers/content-type") == "application/json")
            #expect(shown[0].at("body/message/token") == "device-1")
            #expect(shown[0]["answer"] == ["status": 200, "reason": .null])
            #expect(shown[0]["refused"] == .null)
            #expect(shown[0]["connection"]?.number != nil)
            #expect(shown[1]["answer"] == ["status": 404, "reason": "UNREGISTERED"])
            #expect(shown[2]["body"] == "nonsense")
            #expect(shown[2]["refused"]?.string?.hasPrefix("Invalid JSON payload") == true)
            #expect(try await client.control(.get, "/received").json?.array?.count == 4)
        }
    }

    @Test("a large log is read in pages")
    func pages() async throws {
        try await withSandbox { client in
            let bearer = try await client.accessToken()
            for number in 0..<5 { _ = try await client.send(message("device-\(number)", "n"), bearer: bearer) }
            let first = try await client.control(.get, "/received?provider=fcm&limit=2").json?.array
            #expect(first?.map { $0["token"] } == ["device-0", "device-1"])
            let last = try #require(first?.last?["number"]?.number?.int64)
            let rest = try await client.control(.get, "/received?provider=fcm&after=\(last)").json?.array
            #expect(rest?.map { $0["token"] } == ["device-2", "device-3", "device-4"])
        }
    }

    @Test("counts show the devices and tags that arrived more than once")
    func counts() async throws {
        try await withSandbox { client in
            let bearer = try await client.accessToken()
            for (token, tag) in [("a", "n1"), ("a", "n2"), ("b", "n2")] {
                _ = try await client.send(message(token, tag), bearer: bearer)
            }
            _ = try await client.send(#"{"message":{"topic":"news"}}"#, bearer: bearer)
            let byToken = try await client.control(.get, "/received/count?provider=fcm&by=token").json
            #expect(byToken?["counts"] == ["a": 2, "b": 1])
            #expect(byToken?["distinct"] == 2)
            #expect(byToken?["repeated"] == 1)
            #expect(byToken?["without"] == 1)
            let byTag = try await client.control(.get, "/received/count?provider=fcm&by=tag").json
            #expect(byTag?["counts"] == ["n1": 1, "n2": 2])
        }
    }

    @Test("the tag is found for every platform")
    func findsTags() async throws {
        try await withSandbox { client in
            let bearer = try await client.accessToken()
            for platform in [
                #""apns":{"headers":{"apns-collapse-id":"n"}}"#, #""webpush":{"headers":{"Topic":"n"}}"#,
                #""android":{"notification":{"tag":"n"}}"#,
            ] {
                _ = try await client.send(#"{"message":{"token":"t",\#(platform)}}"#, bearer: bearer)
            }
            #expect(client.sandbox.count(.fcm, by: .tag).counts == ["n": 3])
        }
    }

    @Test("the summary counts everything, and DELETE resets it")
    func summarises() async throws {
        try await withSandbox {
            $0.keptRequests = 2
        } _: { client in
            let bearer = try await client.accessToken()
            for token in ["a", "dead-b", "c"] { _ = try await client.send(message(token, "n"), bearer: bearer) }
            _ = try await client.send("{}", bearer: bearer)
            let summary = try await client.control(.get, "/received/summary").json
            #expect(summary?["total"] == 5)
            #expect(summary?["kept"] == 2)
            #expect(summary?["evicted"] == 3)
            #expect(summary?.at("providers/fcm/answers") == ["200": 2, "404": 1, "400": 1])
            #expect(summary?.at("providers/fcm/refused") == 1)
            #expect(summary?.at("providers/oauth/received") == 1)
            #expect(client.sandbox.received().map(\.token) == ["c", nil])

            #expect(try await client.control(.delete, "/received").status == 204)
            #expect(try await client.control(.get, "/received").json == [])
            #expect(client.sandbox.summary == ReceivedSummary())
        }
    }

    @Test(
        "an invalid query is rejected with the name of the field",
        arguments: [
            ("/received?provider=pigeon", "provider"), ("/received?limit=-1", "limit"), ("/received?after=x", "after"),
            ("/received/count?by=colour", "by"), ("/received/count?provider=", "provider"),
        ]
    )
    func refusesQueries(path: String, field: String) async throws {
        try await withSandbox { client in
            let answer = try await client.control(.get, path)
            #expect(answer.status == 400)
            #expect(answer.json?.at("error/field")?.string == field)
        }
    }

    @Test("invalid faults are rejected, and the previous ones remain active")
    func refusesFaults() async throws {
        try await withSandbox { client in
            try await client.setFaults(#"[{"provider":"fcm","status":503}]"#)
            let answer = try await client.control(.put, "/faults", #"[{"provider":"fcm","status":"503"}]"#)
            #expect(answer.status == 400)
            #expect(answer.json?.at("error/field") == "/0/status")
            let shown = try await client.control(.get, "/faults").json
            #expect(shown == [["provider": "fcm", "status": 503, "rate": .number(JSONNumber(1)), "fired": 0]])
        }
    }

    @Test("every request is answered with 200, counted and not kept if checking is off")
    func answersUnchecked() async throws {
        try await withSandbox {
            $0.checking = .none
        } _: { client in
            let token = try await client.answer(client.tokenRequest("anything"))
            #expect(token.json?["access_token"]?.string?.isEmpty == false)
            let message = try await client.send("anything", bearer: nil)
            #expect(message.status == 200)
            #expect(message.json?["name"]?.string?.isEmpty == false)
            #expect(client.sandbox.received().isEmpty)
            #expect(try await client.control(.get, "/received/summary").json?["unchecked"] == 2)
            _ = try await client.control(.delete, "/received")
            #expect(try await client.control(.get, "/received/summary").json?["unchecked"] == 0)
        }
    }

    @Test("without access tokens, every answer is FCM's to an accepted message")
    func answersAsFCM() async throws {
        try await withSandbox {
            $0.checking = .none
            $0.issuesTokensUnchecked = false
        } _: { client in
            let message = try await client.send("anything", bearer: nil)
            #expect(message.status == 200)
            let names = message.json?.object?.members.map { $0.key }
            #expect(names == ["name"])
        }
    }

    @Test("the times of requests with the noted word are listed if checking is off, by the text after the word")
    func notes() async throws {
        try await withSandbox {
            $0.checking = .none
            $0.notedWord = "anyth"
        } _: { client in
            _ = try await client.send("anything", bearer: nil)
            _ = try await client.send("something else", bearer: nil)
            let noted = try #require(try await client.control(.get, "/received/noted").json?.array)
            #expect(noted.map { $0.array?.first?.string } == ["ing"])
            #expect((noted[0].array?.last?.number?.int64 ?? 0) > 0)
            let taken = try await client.control(.delete, "/received/noted").json?.array
            #expect(taken == noted, "a deletion answers with the removed arrivals")
            #expect(try await client.control(.get, "/received/noted").json == [])
            _ = try await client.send("anything", bearer: nil)
            _ = try await client.control(.delete, "/received")
            #expect(try await client.control(.get, "/received/noted").json == [])
        }
    }

    @Test("checking can be turned off only for FCM: APNs still checks every request")
    func staysStrictAtAPNs() async throws {
        try await withSandbox {
            $0.checking = .none
        } _: { client in
            let answer = try await client.push { $0.headers["apns-topic"] = "com.example.other" }
            #expect(answer.status == 400)
            #expect(answer.reason == "TopicDisallowed")
            #expect(client.sandbox.received(.apns).count == 1)
        }
    }
}
