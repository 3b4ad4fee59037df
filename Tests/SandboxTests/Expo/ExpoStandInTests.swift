import BellhopRules
import Compression
import HTTPTransfer
import TestSupport
import Testing

@testable import Sandbox

@Suite("The stand-in for Expo", .limitedConcurrency, .timeLimit(.ofTest))
struct ExpoStandInTests {
    private static let everything = """
        {"to":["ExponentPushToken[a]","ExpoPushToken[b]"],"title":"t","subtitle":"s","body":"b","data":{"deep":[1,{}]},
        "sound":null,"badge":3,"ttl":0,"expiration":1800000000,"priority":"default","interruptionLevel":"passive",
        "channelId":"c","icon":"i","richContent":{"image":"https://i"},"categoryId":"k","mutableContent":true,
        "collapseId":"n","tag":"n","_contentAvailable":false,"threadId":"t","relevanceScore":0.5}
        """

    @Test(
        "valid messages in all their forms are accepted, alone or in an array",
        arguments: [
            (everything, 2), ("[" + everything + "]", 2), (#"{"to":"ExpoPushToken[a]"}"#, 1),
            (#"[{"to":"aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee","sound":{"critical":true}}]"#, 1),
        ]
    )
    func takes(body: String, count: Int) async throws {
        try await withSandbox { client in
            let answer = try await client.expo("send", body)
            #expect(answer.status == 200)
            let data = try #require(answer.json?["data"])
            #expect((data.array ?? [data]).count == count)
            #expect((data.array == nil) == (!body.hasPrefix("[") && count == 1))
            let received = client.sandbox.received(.expo)
            #expect(received.count == count)
            #expect(received.allSatisfy { $0.refused == nil && $0.answer == .init(status: 200, reason: nil) })
        }
    }

    @Test(
        "a request that the real service rejects gets its message, and the record contains the cause",
        arguments: [
            (#"[{"title":"t"}]"#, #""[0].to" is required"#), (#"[{"to":7}]"#, "string"),
            (#"[{"to":"ExpoPushToken[a]","titel":"t"}]"#, #""[0].titel" is not allowed"#),
            (#"[{"to":"ExpoPushToken[a]"},{"to":"ExpoPushToken[a]","title":1}]"#, #""[1].title" must be a string"#),
            (#"[{"to":"ExpoPushToken[a]","badge":-1}]"#, "non-negative integer"),
            (#"[{"to":"ExpoPushToken[a]","ttl":1.5}]"#, "non-negative integer"),
            (#"[{"to":"ExpoPushToken[a]","priority":"urgent"}]"#, "one of [default, normal, high]"),
            (#"[{"to":"ExpoPushToken[a]","interruptionLevel":"loud"}]"#, "one of [active"),
            (#"[{"to":"ExpoPushToken[a]","data":"text"}]"#, "an object"),
            (#"[{"to":"ExpoPushToken[a]","mutableContent":"yes"}]"#, "a boolean"),
            (#"[{"to":"ExpoPushToken[a]","richContent":{"video":"v"}}]"#, "an image"),
            ("[7]", "must be an object"), ("[]", "must have a message"), ("{", "not valid JSON"),
            ("", "not valid JSON"),
        ]
    )
    func refuses(body: String, why: String) async throws {
        try await withSandbox { client in
            let answer = try await client.expo("send", body)
            #expect(answer.status == 400)
            #expect(answer.expoError == "VALIDATION_ERROR")
            #expect(answer.json?.at("errors/0/message")?.string?.contains(why) == true)
            let received = try #require(client.sandbox.received(.expo).first)
            #expect(received.refused?.contains(why) == true)
        }
    }

    @Test("more than a hundred recipients are rejected, however the messages divide them")
    func batchLimit() async throws {
        try await withSandbox { client in
            let tokens = (0..<101).map { #""ExpoPushToken[\#($0)]""# }.joined(separator: ",")
            let many = try await client.expo("send", #"[{"to":[\#(tokens)]}]"#)
            #expect(many.status == 400)
            #expect(many.expoError == "PUSH_TOO_MANY_NOTIFICATIONS")
            let ids = (0..<1001).map { #""\#($0)""# }.joined(separator: ",")
            let tooMany = try await client.expo("getReceipts", #"{"ids":[\#(ids)]}"#).expoError
            #expect(tooMany == "PUSH_TOO_MANY_RECEIPTS")
            let malformed = try await client.expo("getReceipts", #"{"ids":[7]}"#).expoError
            #expect(malformed == "VALIDATION_ERROR")
        }
    }

    @Test("tokens of two projects in one request are rejected, and the details list them by project")
    func projects() async throws {
        try await withSandbox { client in
            let body = #"[{"to":"ExpoPushToken[a]"},{"to":"ExpoPushToken[other:b]"},{"to":"ExpoPushToken[c]"}]"#
            let answer = try await client.expo("send", body)
            #expect(answer.status == 400)
            #expect(answer.expoError == "PUSH_TOO_MANY_EXPERIENCE_IDS")
            let details: JSONValue = [
                "@sandbox/app": ["ExpoPushToken[a]", "ExpoPushToken[c]"], "@sandbox/other": ["ExpoPushToken[other:b]"],
            ]
            #expect(answer.json?.at("errors/0/details") == details)
        }
    }

    @Test("a gzip body is read, and a damaged body or another encoding is rejected")
    func compression() async throws {
        try await withSandbox { client in
            let packed = try #require(Gzip.compressed(Array(#"[{"to":"ExpoPushToken[a]"}]"#.utf8)))
            let gzip: [TransferRequest.Header] = [("content-encoding", "gzip")]
            let read = try await client.expo("send", packed, headers: gzip).status
            #expect(read == 200)
            #expect(client.sandbox.received(.expo).first?.token == "ExpoPushToken[a]")
            let damaged = try await client.expo("send", Array(packed.dropLast()), headers: gzip).status
            #expect(damaged == 400)
            let foreign = try await client.expo("send", packed, headers: [("content-encoding", "br")]).status
            #expect(foreign == 415)
            let unannounced = try await client.expo("send", packed).status
            #expect(unannounced == 400)
            let untyped = try await client.expo("send", "[]", type: "text/plain").status
            #expect(untyped == 400)
        }
    }

    @Test("an access token is required if the project requires one")
    func accessToken() async throws {
        try await withSandbox({ $0.expoAccessToken = "secret" }) { client in
            let body = #"[{"to":"ExpoPushToken[a]"}]"#
            let without = try await client.expo("send", body).expoError
            #expect(without == "UNAUTHORIZED")
            let wrong = try await client.expo("send", body, headers: [("authorization", "Bearer x")]).status
            #expect(wrong == 401)
            let right = try await client.expo("send", body, headers: [("authorization", "Bearer secret")]).status
            #expect(right == 200)
            let asked = try await client.expo("getReceipts", #"{"ids":["a"]}"#).status
            #expect(asked == 401)
        }
    }

    @Test("other paths and methods get 404")
    func strays() async throws {
        try await withSandbox { client in
            let other = try await client.expo("other", "{}").status
            #expect(other == 404)
            let url = client.sandbox.expoEndpoint + "/--/api/v2/push/send"
            let fetched = try await client.answer(TransferRequest(.get, url: url)).status
            #expect(fetched == 404)
        }
    }
}

@Suite("Tickets and receipts of the stand-in for Expo", .limitedConcurrency, .timeLimit(.ofTest))
struct ExpoReceiptTests {
    @Test("the token determines the result of a message, in its ticket or in its receipt")
    func fates() async throws {
        try await withSandbox { client in
            let tickets = try await client.tickets("ok", "dead-1", "gone-1", "rate-1", "mismatch-1", "silent-1")
            #expect(tickets.map { $0["status"]?.string } == ["ok", "error", "ok", "ok", "ok", "ok"])
            #expect(tickets[1].at("details/error")?.string == "DeviceNotRegistered")
            #expect(tickets[1].at("details/expoPushToken")?.string == "ExponentPushToken[dead-1]")
            let reasons = client.sandbox.received(.expo).map { $0.answer?.reason }
            #expect(reasons == [nil, "DeviceNotRegistered", nil, nil, nil, nil])
            let receipts = try await client.receipts(of: tickets)
            let found = tickets.map { ticket -> String in
                guard let id = ticket["id"]?.string, let receipt = receipts[id] else { return "-" }
                return receipt.at("details/error")?.string ?? receipt["status"]?.string ?? "?"
            }
            #expect(found == ["ok", "-", "DeviceNotRegistered", "MessageRateExceeded", "MismatchSenderId", "-"])
        }
    }

    @Test("an invalid token gets a ticket with an error, and the other messages of the request are sent")
    func malformedToken() async throws {
        try await withSandbox { client in
            let answer = try await client.expo("send", #"[{"to":"device-1"},{"to":"ExpoPushToken[a]"}]"#)
            #expect(answer.status == 200)
            let message = #""device-1" is not a valid Expo push token"#
            #expect(answer.json?.at("data/0/message")?.string == message)
            #expect(answer.json?.at("data/0/details") == nil)
            #expect(answer.json?.at("data/1/status")?.string == "ok")
            #expect(client.sandbox.received(.expo).map(\.refused) == [message, nil])
        }
    }

    @Test("a message over the size limit is accepted, and its receipt reports it")
    func tooBig() async throws {
        try await withSandbox { client in
            let text = String(repeating: "x", count: 4096)
            let answer = try await client.expo("send", #"[{"to":"ExpoPushToken[a]","body":"\#(text)"}]"#)
            let tickets = try #require(answer.json?["data"]?.array)
            let id = try #require(tickets.first?["id"]?.string)
            let found = try await client.receipts(of: tickets)
            let receipt = try #require(found[id])
            #expect(receipt.at("details/error")?.string == "MessageTooBig")
            #expect(client.sandbox.received(.expo).first?.refused?.contains("4096") == true)
        }
    }

    @Test("a receipt is available after its delay, until a day has passed")
    func delay() async throws {
        try await withSandbox({ $0.expoReceiptDelay = .seconds(60) }) { client in
            let tickets = try await client.tickets("ok")
            let early = try await client.receipts(of: tickets).count
            #expect(early == 0)
            client.time.advance(by: .seconds(60))
            let due = try await client.receipts(of: tickets).count
            #expect(due == 1)
            client.time.advance(by: .seconds(86_400))
            let late = try await client.receipts(of: tickets).count
            #expect(late == 0)
        }
    }

    @Test("faults can affect single messages by their token, and single receipts")
    func faults() async throws {
        try await withSandbox { client in
            try await client.setFaults(
                """
                [{"provider":"expo","match":"[one]","status":500,"reason":"MessageRateExceeded","count":1},
                 {"provider":"expo","match":"receipt ExponentPushToken[two]","status":500,"reason":"InvalidCredentials"},
                 {"provider":"expo","match":"receipt ExponentPushToken[three]","drop":true},
                 {"provider":"expo","match":"receipt ExponentPushToken[four]","delayMs":60000}]
                """
            )
            let tickets = try await client.tickets("one", "two", "three", "four", "five")
            #expect(tickets[0].at("details/error")?.string == "MessageRateExceeded")
            #expect(tickets[1...].allSatisfy { $0["status"]?.string == "ok" })
            let receipts = try await client.receipts(of: tickets)
            let words = receipts.members.map { $0.value.at("details/error")?.string ?? "ok" }
            #expect(words.sorted() == ["InvalidCredentials", "ok"])
            client.time.advance(by: .seconds(60))
            let delayed = try await client.receipts(of: tickets).count
            #expect(delayed == 3)
        }
    }

    @Test("faults can affect whole requests by their path, and nothing of the request is sent")
    func requestFaults() async throws {
        try await withSandbox { client in
            try await client.setFaults(
                #"[{"provider":"expo","match":"push/send","status":429,"retryAfter":7},"#
                    + #"{"provider":"expo","match":"getReceipts","status":502}]"#
            )
            let answer = try await client.expo("send", #"[{"to":"ExpoPushToken[a]"},{"to":"ExpoPushToken[b]"}]"#)
            #expect(answer.status == 429 && answer.expoError == "TOO_MANY_REQUESTS")
            #expect(answer.retryAfterSeconds == 7)
            #expect(client.sandbox.received(.expo).map(\.answer?.reason) == ["TOO_MANY_REQUESTS", "TOO_MANY_REQUESTS"])
            let page = try await client.expo("getReceipts", #"{"ids":["a"]}"#)
            #expect(page.status == 502 && page.json == nil)
        }
    }
}
