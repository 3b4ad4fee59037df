import AMQP
import API
import BellhopJSON
import HTTPServer
import IntegrationSupport
import Publishing
import TestSupport
import Testing

@Suite(
    "POST /api/events",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct EventRouteTests {
    private typealias Stage = PublishingStage

    @Test("a plain event is published as its publisher wrote it, and answered with 202 after the confirm")
    func plain() async throws {
        try await Stage.with { stage in
            let text = Stage.event("e1")
            let answer = try await stage.post(text, "application/json; charset=utf-8")
            #expect(answer.status == 202 && answer["accepted"] == 1)
            let message = try #require(stage.broker.messages.first)
            #expect(message.exchange == "x.events" && message.routingKey == "drop.qr_payment")
            #expect(String(decoding: message.body, as: UTF8.self) == text)
            #expect(message.properties.messageID == "e1" && message.properties.contentType == "application/json")
            #expect(message.properties.headers.isEmpty)
            #expect(try await stage.post(text).status == 202)
            let counted = #"bellhop_http_events_total{app="drop",outcome="accepted"} 2"#
            #expect(stage.api.metrics.text().contains(counted))
        }
    }

    @Test("a call's token is looked up once, for its limits, its admission and its answer")
    func lookUps() async throws {
        try await Stage.with(rate: 100, addresses: 100) { stage in
            let status = try await stage.post(Stage.event("e1")).status
            #expect(status == 202)
            #expect(stage.broker.lookUps == 1)
        }
    }

    @Test("a message of another application is published as the event that its mapping makes")
    func mapped() async throws {
        try await Stage.with { stage in
            func post(_ body: String) async throws -> APIFixture.Answer {
                let attributes = [
                    ("ce-specversion", "1.0"), ("ce-id", "7"), ("ce-source", "/safe"),
                    ("ce-type", "transaction-service"),
                ]
                return try await stage.post(body, "application/json", as: "wallet", attributes)
            }
            let safe = #""chainId":"1","address":"0xA1""#
            let answer = try await post(#"{"type":"PENDING_MULTISIG_TRANSACTION",\#(safe),"safeTxHash":"0x9f"}"#)
            #expect(answer.status == 202 && answer["accepted"] == 1, "\(answer.text)")
            let message = try #require(stage.broker.messages.first)
            #expect(message.routingKey == "safe.CONFIRMATION_REQUEST" && message.properties.headers.isEmpty)
            #expect(message.properties.messageID == "PENDING_MULTISIG_TRANSACTION:1:0xA1:0x9f")
            let event = try JSONParser().parse(message.body).get()
            #expect(event["eventType"] == "CONFIRMATION_REQUEST" && event["to"] == ["topic": "safe:1:0xa1"])
            let untyped = try await post("{\(safe)}")
            #expect(untyped.status == 422 && untyped.code == "unknown-type" && untyped.field == "/type")
            let forbidden = try await post(#"{"type":"INCOMING_ETHER",\#(safe),"txHash":"0x1","value":"1"}"#)
            #expect(forbidden.status == 403 && forbidden.code == "forbidden-type")
            #expect(stage.broker.messages.count == 1)
            #expect(try await post(#"{"type":"REORG_DETECTED"}"#)["accepted"] == 1)
            #expect(stage.broker.messages.last?.routingKey == "safe.transaction-service")
        }
    }

    @Test("a structured CloudEvent keeps its form, and the caller's trace travels on")
    func structured() async throws {
        try await Stage.with { stage in
            let text = Stage.cloudEvent("s1")
            let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
            let headers = [("traceparent", parent), ("tracestate", "a=b"), ("ce-type", "ignored")]
            let answer = try await stage.post(text, "application/cloudevents+json; charset=UTF-8", headers)
            #expect(answer.status == 202)
            let message = try #require(stage.broker.messages.first)
            #expect(message.routingKey == "drop.qr_payment" && message.properties.messageID == "/till/s1")
            #expect(message.properties.contentType == "application/cloudevents+json")
            #expect(String(decoding: message.body, as: UTF8.self) == text)
            #expect(message.properties.headers == ["traceparent": .string(parent), "tracestate": "a=b"])
        }
    }

    @Test("a binary CloudEvent becomes one of the AMQP binding, with unquoted and decoded attributes")
    func binary() async throws {
        try await Stage.with { stage in
            let headers = [
                ("ce-specversion", "1.0"), ("CE-Id", "b%20%E2%82%AC"), ("ce-source", #""/a \"till\"""#),
                ("ce-type", "qr_payment"), ("ce-shop", "7"), ("traceparent", "nonsense"),
            ]
            let data = #"{"to":{"user":"ada"},"title":"QR","body":"129 kr"}"#
            #expect(try await stage.post(data, "application/json", headers).status == 202)
            let message = try #require(stage.broker.messages.first)
            #expect(message.properties.messageID == #"/a "till"/b €"#)
            let expected: FieldTable = [
                "cloudEvents_specversion": "1.0", "cloudEvents_id": "b €", "cloudEvents_source": #"/a "till""#,
                "cloudEvents_type": "qr_payment", "cloudEvents_shop": "7",
            ]
            #expect(message.properties.headers == expected)
            // Without data, the audience is missing.
            let empty = try await stage.post(nil, "", headers)
            #expect(empty.status == 422 && empty.code == "missing-audience")
        }
    }

    @Test(
        "an attribute with an invalid escape or invalid UTF-8 is refused by its name",
        arguments: ["%zz", "%C0%A0", "%"]
    )
    func escapes(value: String) async throws {
        try await Stage.with { stage in
            let headers = [("ce-specversion", "1.0"), ("ce-id", value), ("ce-source", "/x"), ("ce-type", "qr_payment")]
            let answer = try await stage.post(#"{"to":{"user":"ada"}}"#, "application/json", headers)
            #expect(answer.status == 422 && answer.field == "/id")
            #expect(stage.broker.messages.isEmpty)
        }
    }

    @Test("a batch is published as a whole, and one invalid event refuses all of them with its index and place")
    func batch() async throws {
        try await Stage.with { stage in
            let type = "application/cloudevents-batch+json"
            let good = (1...3).map { Stage.cloudEvent("c\($0)") }
            let answer = try await stage.post("[\(good.joined(separator: ","))]", type)
            #expect(answer.status == 202 && answer["accepted"] == 3)
            #expect(stage.broker.messages.map(\.properties.messageID) == ["/till/c1", "/till/c2", "/till/c3"])
            #expect(try await stage.post("[]", type)["accepted"] == 0)
            let bad = Stage.cloudEvent("c5").replacing("\"user\":\"ada\"", with: "\"user\":7")
            let refused = try await stage.post("[\(Stage.cloudEvent("c4")),\(bad)]", type)
            #expect(refused.status == 422 && refused.code == "invalid-field" && refused.field == "/data/to/user")
            #expect(refused["error"]?["index"] == 1)
            let gap = try await stage.post("[\(Stage.cloudEvent("c6")),]", type)
            #expect(gap.status == 400 && gap["error"]?["index"] == 1)
            let many = try await stage.post("[\(Array(repeating: "1", count: 1_001).joined(separator: ","))]", type)
            #expect(many.status == 413)
            #expect(try await stage.post(Stage.cloudEvent("c7"), type).status == 400)
            #expect(stage.broker.messages.count == 3)
        }
    }

    @Test("what bellhop validate refuses is refused with the same reason and a JSON pointer")
    func invalid() async throws {
        try await Stage.with { stage in
            let table: [(body: String, status: Int, code: String, field: String?)] = [
                ("{", 400, "malformed-json", nil), ("[1]", 422, "invalid-field", nil),
                (#"{"eventType":"qr_payment","to":{"user":"a"},"title":"t"}"#, 422, "missing-id", "/id"),
                (#"{"id":"1","eventType":"qr_payment","title":"t"}"#, 422, "missing-audience", "/to"),
                (#"{"id":"1","eventType":"nosuch","to":{"user":"a"}}"#, 422, "unknown-type", "/eventType"),
                (#"{"id":"1","eventType":"qr_payment","to":{"user":"a"},"title":7}"#, 422, "invalid-field", "/title"),
                (
                    #"{"id":"1","eventType":"transaction_complete","to":{"user":"a"},"data":{}}"#, 422, "invalid-field",
                    "/data/recipient"
                ),
                ("\"" + String(repeating: "x", count: 256 << 10) + "\"", 413, "too-large", nil),
            ]
            for row in table {
                let answer = try await stage.post(row.body)
                #expect(answer.status == row.status && answer.code == row.code, "\(row.body.prefix(60)) \(answer.text)")
                if let field = row.field { #expect(answer.field == field, "\(row.body.prefix(60)) \(answer.text)") }
                #expect(answer["error"]?["index"] == nil)
            }
            #expect(stage.broker.messages.isEmpty)
        }
    }

    @Test("a token publishes its app and its types only, and feed messages only if its types name them")
    func permissions() async throws {
        try await Stage.with { stage in
            let foreign = #"{"id":"1","app":"daily","eventType":"qr_payment","to":{"user":"a"},"title":"t","body":"b"}"#
            #expect(try await stage.post(foreign).status == 403)
            let own = foreign.replacing("daily", with: "drop")
            #expect(try await stage.post(own).status == 202)
            #expect(try await stage.post(own, as: "till").status == 202)
            let other = try await stage.post(Stage.event("2", type: "security"), as: "till")
            #expect(other.status == 403 && other.field == "/eventType")
            // Not even the validity of a forbidden event is told.
            #expect(try await stage.post(#"{"eventType":"security"}"#, as: "till").status == 403)
            let feed = #"{"eventType":"recipient.upserted","userId":"ada","locale":"nb"}"#
            #expect(try await stage.post(feed).status == 403)
            #expect(try await stage.post(feed, as: "till").status == 202)
            #expect(stage.broker.messages.last?.routingKey == "drop.recipient.upserted")
            let cancellation = #"{"eventType":"event.cancelled","id":"1"}"#
            #expect(try await stage.post(cancellation).status == 202)
            #expect(try await stage.post(cancellation, as: "till").status == 403)
            let unknown = try await stage.post(Stage.event("3"), as: "lost")
            #expect(unknown.status == 403 && unknown.code == "unknown-app")
        }
    }

    @Test("a user's token, a changed token and no token are answered with 401")
    func unauthorized() async throws {
        try await Stage.with { stage in
            let user = try await stage.api.call("POST", "/api/events", Stage.event("1"))
            #expect(user.status == 401)
            let forged: HTTPHeaders = ["Authorization": "Bearer \(try stage.token("shop"))x"]
            let answer = try await stage.api.call("POST", "/api/events", Stage.event("1"), as: nil, headers: forged)
            #expect(answer.status == 401 && answer.headers["WWW-Authenticate"] == "Bearer")
            let publisher: HTTPHeaders = ["Authorization": "Bearer \(try stage.token("shop"))"]
            #expect(try await stage.api.call("GET", "/api/settings", as: nil, headers: publisher).status == 401)
            #expect(stage.broker.messages.isEmpty)
        }
        // Without configured publishers, no token is valid.
        try await APIFixture.with { api in
            let answer = try await api.call("POST", "/api/events", Stage.event("1"))
            #expect(answer.status == 401)
        }
    }

    @Test("other content types, encodings, methods and parameters are refused")
    func forms() async throws {
        try await Stage.with { stage in
            for type in ["text/plain", "application/cloudevents+avro", "application/x-www-form-urlencoded"] {
                #expect(try await stage.post(Stage.event("1"), type).status == 415)
            }
            let encoded = try await stage.post(Stage.event("1"), "application/json", [("Content-Encoding", "gzip")])
            #expect(encoded.status == 415)
            let read = try await stage.api.call("GET", "/api/events", as: nil)
            #expect(read.status == 405 && read.headers["Allow"] == "POST")
            let fields: HTTPHeaders = ["Authorization": "Bearer \(try stage.token("shop"))"]
            let query = try await stage.api.call("POST", "/api/events?x=1", Stage.event("1"), as: nil, headers: fields)
            #expect(query.status == 422 && query.field == "x")
            #expect(stage.broker.messages.isEmpty)
        }
    }

    @Test("without confirms of all events the answer is 503 with Retry-After, and the log reports the outage once")
    func unconfirmed() async throws {
        try await Stage.with(limits: EventPublisher.Limits(events: 2, bytes: 10_000)) { stage in
            let outcomes: [PublishOutcome] = [.refused, .unknown("lost"), .notSent("away"), .unroutable("no queue")]
            for outcome in outcomes {
                stage.broker.outcome = outcome
                let answer = try await stage.post(Stage.event("1"))
                #expect(answer.status == 503 && answer.headers["Retry-After"] == "2", "\(outcome)")
            }
            let sent = stage.broker.messages.count
            stage.broker.outcome = .confirmed
            stage.broker.obstacle = PublishOutcome.alarm
            #expect(try await stage.post(Stage.event("1")).status == 503)
            stage.broker.obstacle = nil
            let three = "[" + (1...3).map { Stage.cloudEvent("c\($0)") }.joined(separator: ",") + "]"
            let many = try await stage.post(three, "application/cloudevents-batch+json")
            #expect(many.status == 503 && many.code == "too-many-unconfirmed" && many.headers["Retry-After"] == "1")
            #expect(stage.broker.messages.count == sent)
            #expect(try await stage.post(Stage.event("1")).status == 202)
            stage.broker.outcome = .unwritable("a header is too long")
            #expect(try await stage.post(Stage.event("1")).status == 422)
        }
    }

    @Test("a publisher's calls count for the publisher, other calls of its address for the address")
    func rates() async throws {
        let time = ManualSteadyTime()
        try await Stage.with(rate: 2, addresses: 1, time: time) { stage in
            var statuses: [Int] = []
            for number in 1...3 { statuses.append(try await stage.post(Stage.event("\(number)")).status) }
            #expect(statuses == [202, 202, 429])
            #expect(try await stage.post(Stage.event("4"), as: "till").status == 202)
            let forged: HTTPHeaders = ["Authorization": "Bearer x"]
            var others: [Int] = []
            for _ in 1...2 {
                others.append(try await stage.api.call("POST", "/api/events", "{}", as: nil, headers: forged).status)
            }
            #expect(others == [401, 429])
            time.advance(by: .seconds(1))
            #expect(try await stage.post(Stage.event("5")).status == 202)
        }
    }
}
