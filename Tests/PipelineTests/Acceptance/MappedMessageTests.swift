import AMQP
import BellhopRules
import IntegrationSupport
import Pipeline
import Settings
import TestSupport
import Testing

/// Messages of other applications from the broker to the inbox: Debezium's outbox format, the Safe services' events and
/// a plain payload.
@Suite(
    "Acceptance: messages of other applications",
    .limitedConcurrency,
    .enabled(
        if: Servers.amqpURL != nil && Servers.databaseURL != nil,
        "needs BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL"
    ),
    .timeLimit(.ofTest)
)
struct MappedMessageTests {
    private static let shop = """
        {app: "shop", language: "en", timezone: "UTC",
         from: {
           outbox: {
             only: {"/op": "c"}, eventType: "/after/type", types: {OrderShipped: "shipped"}, id: "/after/id",
             to: {user: "/after/payload/customer"}, data: "/after/payload",
           },
           mailer: {
             eventType: {text: "letter"}, id: "/no", to: {users: "/recipients"}, title: "/subject", body: "/text",
           },
         },
         types: {
           shipped: {priority: "high", label: {en: "S"}, templates: {en: {title: "Order {number} is on its way"}}},
           letter: {priority: "low", label: {en: "L"}},
         }}
        """

    private static func catalogs() throws -> CatalogSet {
        let safe = try Checkout.text("deploy/catalogs/safe.json5")
        let files = [("shop.json5", shop), ("safe.json5", safe)].map { (name: $0.0, bytes: Array($0.1.utf8)) }
        return try CatalogSet.load(files: files).get()
    }

    /// Returns Debezium's change event of an outbox row, whose payload is a text.
    private static func change(_ id: String, _ type: String, _ payload: String) -> String {
        let text = payload.replacing("\"", with: "\\\"")
        return #"{"before":null,"after":{"id":"\#(id)","type":"\#(type)","payload":"\#(text)"},"op":"c"}"#
    }

    @Test("each kind of message becomes notifications, unwanted ones have no effect, and bad ones become dead letters")
    func kinds() async throws {
        try await ServerFixture.withTopology(catalogs: try Self.catalogs()) { servers in
            try await PipelineFixture.on(servers) { pipeline in
                func publish(_ key: String, _ bodies: String...) async throws {
                    // Properties that a client library sets by default do not matter.
                    let properties = MessageProperties(contentType: "application/octet-stream")
                    try await pipeline.publish(bodies.map { pipeline.event($0, key: key, properties: properties) })
                }
                try await publish("safe.follow.added", #"{"userId":"olga","topic":"safe:1:0xa1","role":"owner"}"#)
                try await pipeline.wait(for: 1, "SELECT count(*) FROM follows")
                try await publish(
                    "shop.outbox",
                    Self.change("row-1", "OrderShipped", #"{"number":7,"customer":"ada"}"#),
                    Self.change("row-1", "OrderShipped", #"{"number":7,"customer":"ada"}"#),
                    #"{"before":{"id":"row-1"},"after":null,"op":"d"}"#,
                    Self.change("row-2", "OrderLost", "{}"),
                    Self.change("row-3", "OrderShipped", #"{"customer":"ada"}"#),
                    Self.change("row-4", "OrderShipped", #"{"number":8}"#)
                )
                try await publish(
                    "shop.mailer",
                    #"{"no":17,"recipients":["bo",42],"subject":"Closed on Monday","text":"See you on Tuesday."}"#,
                    #"{"no":18,"subject":"To nobody"}"#,
                    "not JSON"
                )
                let safe = #""chainId":"1","address":"0xA1""#
                try await publish(
                    "safe.transaction-service",
                    #"{"type":"PENDING_MULTISIG_TRANSACTION",\#(safe),"safeTxHash":"0x9f"}"#,
                    #"{"type":"INCOMING_ETHER",\#(safe),"txHash":"0x1","value":"1500000000000000000"}"#,
                    #"{"type":"REORG_DETECTED","chainId":"1","blockNumber":7}"#
                )
                try await pipeline.wait(for: 2, "SELECT count(*) FROM fanouts WHERE state = 'finished'")
                try await pipeline.wait(for: 5, "SELECT count(*) FROM dead_letters")
                try await pipeline.wait(for: 5, "SELECT count(*) FROM notifications")
                let records = try await servers.column(
                    "SELECT concat_ws('|', app, user_id, event_id, type, title) FROM notifications ORDER BY 1"
                )
                #expect(
                    records == [
                        "safe|olga|INCOMING_ETHER:1:0xA1:0x1:1500000000000000000|INCOMING_ETHER|1.5 ETH received",
                        "safe|olga|PENDING_MULTISIG_TRANSACTION:1:0xA1:0x9f|CONFIRMATION_REQUEST|Confirmation required",
                        "shop|42|17|letter|Closed on Monday", "shop|ada|row-1|shipped|Order 7 is on its way",
                        "shop|bo|17|letter|Closed on Monday",
                    ]
                )
                let letters = try await servers.column(
                    "SELECT concat_ws('|', app, event_type, reason, pointer) FROM dead_letters ORDER BY 1"
                )
                #expect(
                    letters
                        == [
                            "shop|letter|missing-audience|/recipients", "shop|mailer|malformed-json|",
                            "shop|outbox|unknown-type|/after/type", "shop|shipped|invalid-field|/data/number",
                            "shop|shipped|missing-audience|/after/payload/customer",
                        ].sorted()
                )
            }
        }
    }

    @Test("messages of a mapping have a binding to the lane of its most urgent type")
    func lanes() throws {
        let names = TopologyNames(try #require(Namespace("t")))
        let plan = TopologyPlan(names: names, catalogs: try Self.catalogs(), tiers: ServerFixture.tiers)
        #expect(plan.lanes["shop.outbox"] == .urgent)
        #expect(plan.lanes["shop.mailer"] == .bulk)
        #expect(plan.lanes["safe.transaction-service"] == .urgent)
        #expect(plan.mappingCount == 3)
    }
}
