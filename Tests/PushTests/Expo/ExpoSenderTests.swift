import BellhopRules
import HTTPTransfer
import Push
import ServiceRuntime
import TestSupport
import Testing

@Suite("Expo's sender")
struct ExpoSenderTests {
    private static func accepted(_ names: some Sequence<String>) -> [Verdict] {
        names.map { .accepted(ticket: "t-" + Expo.token($0)) }
    }

    @Test("a batch is sent in compressed requests of a hundred, and each message gets its ticket")
    func batches() async throws {
        let transport = ScriptedTransport { (try? Expo.tickets($0)) ?? .answer(500) }
        let names = (0..<250).map { "phone-\($0)" }
        let verdicts = await Expo.sender(transport).send(try Expo.batch(names))
        #expect(verdicts == Self.accepted(names))
        #expect(try transport.requests.map { try $0.expoTokens.count } == [100, 100, 50])
        for request in transport.requests {
            #expect(request.url == "https://expo.example/--/api/v2/push/send")
            #expect(request.header("content-encoding") == "gzip")
            #expect(request.header("content-type") == "application/json")
            #expect(request.header("authorization") == nil)
        }
    }

    @Test("a small request is sent uncompressed, with the access token if there is one")
    func small() async throws {
        let transport = ScriptedTransport { (try? Expo.tickets($0)) ?? .answer(500) }
        let verdicts = await Expo.sender(transport, accessToken: "secret").send([try Expo.plain()])
        #expect(verdicts == Self.accepted(["phone"]))
        let request = try #require(transport.requests.first)
        #expect(request.header("content-encoding") == nil)
        #expect(request.header("authorization") == "Bearer secret")
    }

    @Test("a printed sender does not show its access token")
    func masked() {
        let sender = Expo.sender(ScriptedTransport { _ in .answer(500) }, accessToken: "very-secret")
        var dumped = ""
        dump(sender, to: &dumped)
        #expect(!dumped.contains("very-secret") && !"\(sender)".contains("very-secret"))
        #expect(dumped.contains("accessToken"))
    }

    @Test("an empty batch sends no request")
    func empty() async {
        let transport = ScriptedTransport { _ in .answer(500) }
        #expect(await Expo.sender(transport).send([]) == [])
        #expect(transport.requests.isEmpty)
    }

    @Test("messages for another provider, for a browser or beyond the limit are not sent, and the others are")
    func unfit() async throws {
        let transport = ScriptedTransport { (try? Expo.tickets($0)) ?? .answer(500) }
        var long = try Expo.plain()
        long.link = .init(web: String(repeating: "w", count: 5000), mobile: "/")
        let batch = [try SamplePushes.plain(), try Expo.plain("a"), try Expo.plain("b", .web), long]
        let verdicts = await Expo.sender(transport).send(batch)
        #expect(
            verdicts == [
                .payloadError(.wrongProvider), .accepted(ticket: "t-" + Expo.token("a")),
                .payloadError(.wrongProvider), .payloadError(.payloadTooLarge),
            ]
        )
    }

    /// Returns Expo's answer to a request that mixes projects; a token's project is the part before the colon.
    private static func divided(_ request: TransferRequest) throws -> TransferOutcome {
        let projects = Dictionary(grouping: try request.expoTokens) { String($0.prefix { $0 != ":" }) }
        guard projects.count > 1 else { return try Expo.tickets(request) }
        let details = projects.enumerated().map { index, project in
            #""@p/\#(index)":[\#(project.value.map { #""\#($0)""# }.joined(separator: ","))]"#
        }
        return .answer(
            400,
            Expo.error("PUSH_TOO_MANY_EXPERIENCE_IDS", details: "{\(details.joined(separator: ","))}")
        )
    }

    @Test("devices of several projects are sent again by project immediately, and the log reports it")
    func projects() async throws {
        let transport = ScriptedTransport { (try? Self.divided($0)) ?? .answer(500) }
        let log = CapturedLog()
        let names = (0..<90).map { "\($0 % 3):\($0)" }
        let verdicts = await Expo.sender(transport, log: log).send(try Expo.batch(names))
        #expect(verdicts == Self.accepted(names))
        #expect(try transport.requests.map { try $0.expoTokens.count } == [90, 30, 30, 30])
        #expect(log.lines(.text).contains { $0.contains("several Expo projects") })
    }

    @Test("projects that Expo does not name are found by halving, and one message alone is never divided")
    func unnamedProjects() async throws {
        let transport = ScriptedTransport { request in
            let projects = Set(((try? request.expoTokens) ?? []).map { $0.prefix { $0 != ":" } })
            let mixed = TransferOutcome.answer(400, Expo.error("PUSH_TOO_MANY_EXPERIENCE_IDS"))
            return projects.count > 1 ? mixed : (try? Expo.tickets(request)) ?? .answer(500)
        }
        let names = (0..<8).map { "\($0 / 4):\($0)" }
        #expect(await Expo.sender(transport).send(try Expo.batch(names)) == Self.accepted(names))
        #expect(transport.requests.count == 3)
        let always = ScriptedTransport { _ in .answer(400, Expo.error("PUSH_TOO_MANY_EXPERIENCE_IDS")) }
        let verdicts = await Expo.sender(always).send(try Expo.batch(["a", "b", "c"]))
        #expect(verdicts == Array(repeating: .configError(.unexpectedAnswer, scope: .provider), count: 3))
        #expect(always.requests.count == 5)
    }

    @Test("a message that Expo rejects is found by halving, and the others of its request are sent")
    func bisection() async throws {
        let transport = ScriptedTransport { request in
            guard (try? request.expoTokens.contains(Expo.token("bad"))) == false else {
                return .answer(400, Expo.error("VALIDATION_ERROR"))
            }
            return (try? Expo.tickets(request)) ?? .answer(500)
        }
        var names = (0..<100).map { "phone-\($0)" }
        names[37] = "bad"
        let verdicts = await Expo.sender(transport).send(try Expo.batch(names))
        var expected = Self.accepted(names)
        expected[37] = .payloadError(.invalidMessage)
        #expect(verdicts == expected)
        #expect(transport.requests.count <= 15)
    }

    @Test("an unknown outcome of a request applies to all its messages, and to no other")
    func unknown() async throws {
        let transport = ScriptedTransport { request in
            guard (try? request.expoTokens.contains(Expo.token("phone-150"))) == false else {
                return .unknown(TransferError(.connectionLost, "gone"))
            }
            return (try? Expo.tickets(request)) ?? .answer(500)
        }
        let names = (0..<250).map { "phone-\($0)" }
        let verdicts = await Expo.sender(transport).send(try Expo.batch(names))
        let unknown = Verdict.unknown(.connectionLost, notBefore: .seconds(5))
        #expect(verdicts[100..<200].allSatisfy { $0 == unknown })
        #expect(Array(verdicts[..<100]) == Self.accepted(names[..<100]))
        #expect(Array(verdicts[200...]) == Self.accepted(names[200...]))
        #expect(transport.requests.count == 3)
    }

    @Test("receipts are requested a thousand at a time, and the answers keep the order of the tickets")
    func receipts() async throws {
        let transport = ScriptedTransport { request in
            let ids = (try? request.expoBody["ids"]?.array?.compactMap(\.string)) ?? []
            let known = ids.filter { !$0.hasSuffix("7") }.reversed().map { #""\#($0)":{"status":"ok"}"# }
            return .answer(200, #"{"data":{\#(known.joined(separator: ","))}}"#)
        }
        let service = ExpoService(endpoint: "https://expo.example", accessToken: Secret("s"), transport: transport)
        let tickets = (0..<2345).map { "ticket-\($0)" }
        let answers = await ExpoReceipts(service: service).ask(tickets)
        #expect(answers.count == 2345)
        for (ticket, answer) in zip(tickets, answers) {
            #expect(answer == (ticket.hasSuffix("7") ? .missing : .known(.delivered(providerMessageID: nil))))
        }
        #expect(try transport.requests.map { try $0.expoBody["ids"]?.array?.count } == [1000, 1000, 345])
        #expect(transport.requests.allSatisfy { $0.url.hasSuffix("/--/api/v2/push/getReceipts") })
        #expect(transport.requests.allSatisfy { $0.header("authorization") == "Bearer s" })
        #expect(await ExpoReceipts(service: service).ask([]) == [])
    }
}
