import BellhopRules
import Testing

@Suite("The catalogue of safe")
struct SafeCatalogTests {
    private static let safe = "0x5aFE3855358E112B5647B952709E6165e1c1eEEe"
    private static let owner = "0x8ba1f109551bD432803012645Ac136ddd64DBA72"

    private static func payload(_ more: JSONObject, chain: JSONValue = "1") -> JSONObject {
        var payload: JSONObject = ["address": .string(safe), "chainId": chain]
        for member in more.members { payload[member.key] = member.value }
        return payload
    }

    static let table: [(type: String, payload: JSONObject, title: String, body: String)] = [
        (
            "INCOMING_ETHER", payload(["value": "1500000000000000000"]), "1.5 ETH received",
            "Safe 0x5aFE…eEEe on Ethereum"
        ),
        (
            "INCOMING_ETHER", payload(["value": "1"], chain: 100), "0.000000000000000001 xDAI received",
            "Safe 0x5aFE…eEEe on Gnosis Chain"
        ),
        (
            "INCOMING_ETHER", payload(["value": "12345678901234567890123"], chain: "31337"),
            "12,345.678901 ETH received", "Safe 0x5aFE…eEEe on chain 31337"
        ),
        (
            "INCOMING_TOKEN",
            payload(["value": "2500000", "token": ["decimals": 6, "symbol": "USDC"]], chain: "8453"),
            "2.5 USDC received", "Safe 0x5aFE…eEEe on Base"
        ),
        (
            "OUTGOING_ETHER", payload(["value": "20000000000000000"], chain: "137"), "0.02 POL sent",
            "Safe 0x5aFE…eEEe on Polygon"
        ),
        (
            "OUTGOING_TOKEN", payload(["value": "1000", "token": ["decimals": "0", "symbol": "DAO"]]), "1,000 DAO sent",
            "Safe 0x5aFE…eEEe on Ethereum"
        ),
        (
            "EXECUTED_MULTISIG_TRANSACTION", payload(["failed": "false"]), "Transaction executed",
            "Safe 0x5aFE…eEEe on Ethereum"
        ),
        (
            "EXECUTED_MULTISIG_TRANSACTION", payload(["failed": true]), "Transaction failed",
            "Safe 0x5aFE…eEEe on Ethereum"
        ),
        (
            "NEW_CONFIRMATION", payload(["owner": .string(owner)]), "Transaction confirmed",
            "0x8ba1…BA72 confirmed a transaction of Safe 0x5aFE…eEEe on Ethereum"
        ),
        (
            "CONFIRMATION_REQUEST", payload([:], chain: "10"), "Confirmation required",
            "A transaction of Safe 0x5aFE…eEEe on OP Mainnet needs your confirmation"
        ),
        (
            "MODULE_TRANSACTION", payload(["module": .string(owner)], chain: "42161"), "Module transaction executed",
            "0x8ba1…BA72 acted for Safe 0x5aFE…eEEe on Arbitrum One"
        ),
        (
            "MESSAGE_CONFIRMATION_REQUEST", payload([:], chain: "56"), "Message confirmation required",
            "A message of Safe 0x5aFE…eEEe on BNB Smart Chain needs your confirmation"
        ),
    ]

    @Test("title and body are made from the payload", arguments: table.indices)
    func words(index: Int) throws {
        let row = Self.table[index]
        let rendered = try AppEvents.rendered("safe", row.type, ["data": .object(row.payload)]).get()
        #expect(rendered.title == row.title)
        #expect(rendered.body == row.body)
        #expect(rendered.link?.web.hasPrefix("/safes/") == true)
        #expect(rendered.link?.web.contains(Self.safe) == true)
    }

    @Test("the catalogue has every type of the table, and no other")
    func types() throws {
        let types = try Repository.catalog("safe").types
        #expect(Set(types.map(\.type.text)) == Set(Self.table.map(\.type)))
        #expect(types.count == 9)
    }

    @Test("confirmation requests reach only owners, and everything else reaches observers, too")
    func roles() throws {
        let owner = try #require(FollowRole(validating: "owner"))
        let observer = try #require(FollowRole(validating: "observer"))
        for type in try Repository.catalog("safe").types {
            let isRequest = type.type.text.hasSuffix("CONFIRMATION_REQUEST")
            #expect(type.reaches(owner))
            #expect(type.reaches(observer) == !isRequest)
            #expect(type.reaches(nil) == !isRequest)
        }
    }

    @Test("Android shows every type with importance HIGH and visibility PUBLIC, iOS may rewrite it, and a badge is set")
    func looks() throws {
        for type in try Repository.catalog("safe").types {
            #expect(type.android.importance == .high)
            #expect(type.android.visibility == .everything)
            #expect(type.android.channel != nil)
            #expect(type.android.display == .app)
            #expect(type.apple.isMutable)
            #expect(type.badgePlatforms == [.ios, .android] && type.hasSound)
        }
    }

    @Test("topics of Safes are compared case-insensitively, and other topics exactly")
    func topics() throws {
        let folding = try Repository.catalog("safe").topics
        let topic = try #require(Topic(validating: "safe:1:\(Self.safe)"))
        #expect(folding.canonical(topic).text == "safe:1:\(Self.safe.lowercased())")
        let other = try #require(Topic(validating: "Venue:Å"))
        #expect(folding.canonical(other) == other)
    }

    @Test("an event without an audience reaches the followers of the Safe that its data names")
    func audiences() throws {
        for type in try Repository.catalog("safe").types {
            let data: JSONValue = .object(Self.payload([:], chain: 100))
            let event = try AppEvents.event("safe", type.type.text, ["to": .null, "data": data])
            #expect(event.audience.topic?.text == "safe:100:\(Self.safe.lowercased())")
        }
    }

    @Test("the only provider is FCM")
    func provider() throws {
        let catalog = try Repository.catalog("safe")
        #expect(PushProvider.allCases.filter(catalog.uses) == [.fcm])
    }

    @Test(
        "a token without decimals, symbol or amount is described without its amount",
        arguments: [
            ["value": "1000", "token": ["symbol": "USDC"]], ["value": "1000", "token": ["decimals": 6]],
            ["token": ["decimals": 6, "symbol": "USDC"]],
            ["value": "1000", "token": ["decimals": 300, "symbol": "X"]],
        ] as [JSONObject]
    )
    func withoutDecimals(_ said: JSONObject) throws {
        for (type, title) in [("INCOMING_TOKEN", "Tokens received"), ("OUTGOING_TOKEN", "Tokens sent")] {
            var data = said
            data["chainId"] = "1"
            data["address"] = .string(Self.safe)
            let rendered = try AppEvents.rendered("safe", type, ["data": .object(data)]).get()
            #expect(rendered.title == title)
            #expect(rendered.body == "Safe 0x5aFE…eEEe on Ethereum")
        }
    }

    @Test("a payload without an amount is rejected with all its missing values")
    func missing() throws {
        let rejection = try #require(
            try AppEvents.rendered("safe", "INCOMING_TOKEN", ["data": ["chainId": "1"]]).failure
        )
        #expect(rejection.pointer.text == "/data/token/decimals" || rejection.pointer.text == "/data/value")
        for name in ["/data/value", "/data/token/decimals", "/data/token/symbol", "/data/address"] {
            #expect(rejection.message.contains(name), "\(rejection.message)")
        }
    }
}
