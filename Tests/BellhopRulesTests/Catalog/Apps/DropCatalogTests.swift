import BellhopRules
import Testing

@Suite("The catalogue of drop")
struct DropCatalogTests {
    private struct Row {
        let type, title, body: String
        let icon: String?
        let color, background: String
        let priority: Priority
        let data: JSONObject
        let web, mobile: String
    }

    /// The tables of the app's documentation: types, texts, looks, priorities and links.
    private static let table = [
        Row(
            type: "transaction_complete",
            title: "Overføring til Mama Jasmina fullført",
            body: "2 000 kr sendt til Serbia",
            icon: "ArrowUpRight",
            color: "#0B6E35",
            background: "#F0FDF4",
            priority: .normal,
            data: ["recipient": "Mama Jasmina", "amount": "2 000 kr", "country": "Serbia"],
            web: "/transactions?id=tx_rem_1",
            mobile: "/(tabs)/history?id=tx_rem_1"
        ),
        Row(
            type: "qr_payment",
            title: "QR-betaling hos Ahmetov Kebab",
            body: "129 kr betalt",
            icon: "ScanLine",
            color: "#D4A017",
            background: "#FEF3C7",
            priority: .normal,
            data: ["merchant": "Ahmetov Kebab", "amount": "129 kr"],
            web: "/transactions?id=tx_rem_1",
            mobile: "/(tabs)/history?id=tx_rem_1"
        ),
        Row(
            type: "security",
            title: "Ny pålogging fra iPhone",
            body: "Oslo, Norge",
            icon: "Smartphone",
            color: "#3B82F6",
            background: "#EFF6FF",
            priority: .high,
            data: ["device": "iPhone", "place": "Oslo, Norge"],
            web: "/profile/security",
            mobile: "/(tabs)/profile"
        ),
        Row(
            type: "rate_update",
            title: "Valutakurs oppdatert",
            body: "1 NOK = 11.70 RSD",
            icon: "TrendingUp",
            color: "#D4A017",
            background: "#FEF3C7",
            priority: .low,
            data: ["base": "NOK", "rate": "11.70", "quote": "RSD"],
            web: "/send",
            mobile: "/(tabs)/send"
        ),
        Row(
            type: "system",
            title: "Systemoppdatering",
            body: "Drop er oppdatert til v0.2.0",
            icon: "Bell",
            color: "#6B7280",
            background: "#F3F4F6",
            priority: .low,
            data: ["version": "v0.2.0"],
            web: "/notifications",
            mobile: "/notifications"
        ),
        Row(
            type: "promotional",
            title: "Nytt tilbud",
            body: "0% gebyr denne uken!",
            icon: nil,
            color: "#6B7280",
            background: "#F3F4F6",
            priority: .low,
            data: ["offer": "0% gebyr denne uken!"],
            web: "/",
            mobile: "/"
        ),
    ]

    @Test("looks, priorities, texts and links are those of the app's documentation", arguments: table.indices)
    func row(index: Int) throws {
        let row = Self.table[index]
        let catalog = try #require(try Repository.drop().catalogs.first)
        let type = try #require(catalog.types.dropFirst(index).first)
        #expect(type.type.text == row.type)
        #expect(type.icon == row.icon)
        #expect(type.color == row.color)
        #expect(type.background == row.background)
        #expect(type.priority == row.priority)
        let object: JSONObject = [
            "id": "e", "app": "drop", "eventType": .string(row.type), "to": ["user": "u"], "targetId": "tx_rem_1",
            "data": .object(row.data),
        ]
        let rendered = try catalog.render(SampleMessages.event(SampleMessages.envelope(object)), language: nil).get()
        #expect(rendered.title == row.title)
        #expect(rendered.body == row.body)
        #expect(rendered.link?.web == row.web)
        #expect(rendered.link?.mobile == row.mobile)
    }

    @Test("only security is mandatory: no switch of a user silences its push or its mail")
    func mandatory() throws {
        let types = try #require(try Repository.drop().catalogs.first).types
        let mandatory = types.filter(\.isMandatory).map(\.type.text)
        #expect(mandatory == ["security"])
        let off = DecisionSample.preferences(enabled: false, toggles: ["security": false])
        let catalog = try Repository.catalog("drop")
        let muted = try DecisionSample.facts("security", in: catalog) {
            $0.recipient.preferences = off
            $0.recipient.devices = [try DecisionSample.device(.ios, .expo)]
        }
        #expect(Decision(muted).outcome(.ios) == .send && Decision(muted).email == .send)
        let disabled = try DecisionSample.facts("security", in: catalog) {
            ($0.recipient.pushEnabled, $0.recipient.emailEnabled) = (false, false)
        }
        #expect(Decision(disabled).outcome(.ios) == .suppress(.pushDisabled))
        #expect(Decision(disabled).email == .suppress(.emailDisabled))
    }

    @Test("a campaign's page opens in the browser, and the app's home screen on a phone")
    func campaign() throws {
        let fields: JSONObject = ["data": ["offer": "0% gebyr"], "route": ["web": "/kampanje/juni"]]
        let rendered = try AppEvents.rendered("drop", "promotional", fields).get()
        #expect(rendered.link?.web == "/kampanje/juni" && rendered.link?.mobile == "/")
    }

    @Test("the catalogue has six types, and every one has a Norwegian label")
    func labels() throws {
        let catalog = try #require(try Repository.drop().catalogs.first)
        let norwegian = try #require(LanguageTag(validating: "nb"))
        #expect(catalog.types.map(\.type.text) == Self.table.map(\.type))
        #expect(catalog.types.allSatisfy { $0.labels[norwegian]?.isEmpty == false })
        #expect(catalog.language == norwegian)
        #expect(catalog.timezone.text == "Europe/Oslo")
    }

    @Test("a low priority is pushed only to users who opted in, and only a high priority is mailed")
    func defaults() throws {
        for type in try #require(try Repository.drop().catalogs.first).types {
            #expect(type.pushByDefault == (type.priority != .low))
            #expect(type.emailByDefault == (type.priority == .high))
        }
    }

    @Test("transactions have a link with the app's own scheme")
    func scheme() throws {
        let catalog = try #require(try Repository.drop().catalogs.first)
        let object = SampleMessages.changed(["eventType": "qr_payment", "body": "B", "targetId": "tx_rem_1"])
        let rendered = try catalog.render(SampleMessages.event(SampleMessages.envelope(object)), language: nil).get()
        #expect(rendered.link?.scheme == "drop://transactions/tx_rem_1")
        #expect(rendered.link?.json["scheme"] == "drop://transactions/tx_rem_1")
    }

    @Test("low priority is gathered into two digests per day, in the plural if there are several")
    func digest() throws {
        let catalog = try #require(try Repository.drop().catalogs.first)
        #expect(catalog.types.allSatisfy { $0.isGathered == ($0.priority == .low) })
        #expect(catalog.digest?.times.map(\.description) == ["08:00", "17:00"])
        #expect(catalog.digest?.days == Set(Weekday.allCases))
        let one = try #require(catalog.renderDigest(titles: ["Valutakurs oppdatert"], count: 1, language: nil))
        #expect(one.title == "1 nytt varsel")
        #expect(one.body == "Valutakurs oppdatert")
        let titles = [
            "Nytt tilbud", "Valutakurs oppdatert", "Systemoppdatering", "Nytt tilbud", "Enda et", "Og et til",
        ]
        let several = try #require(catalog.renderDigest(titles: titles, count: 6, language: nil))
        #expect(several.title == "6 nye varsler")
        #expect(several.body == "Nytt tilbud, Valutakurs oppdatert, Systemoppdatering og 2 til")
        #expect(several.link?.web == "/notifications")
    }

    @Test("every type names its Android channel, and only security has a high importance")
    func channels() throws {
        let channels = try Repository.catalog("drop").types.map { type in
            let words = [type.type.text, type.android.channel, type.android.importance?.rawValue]
            return words.compactMap { $0 }.joined(separator: " ")
        }
        #expect(
            channels == [
                "transaction_complete transactions default", "qr_payment transactions default",
                "security security high", "rate_update rates low", "system system low", "promotional offers low",
            ]
        )
    }

    @Test("the providers are Expo, Web Push, and FCM for devices that are registered there")
    func provider() throws {
        #expect(try #require(try Repository.drop().catalogs.first).providers == [.expo, .webpush, .fcm])
    }

    @Test("priorities select the lanes")
    func lanes() {
        #expect(Priority.high.lane == .urgent)
        #expect(Priority.normal.lane == .normal)
        #expect(Priority.low.lane == .bulk)
        #expect(Priority.allCases.map(\.rawValue) == ["high", "normal", "low"])
    }
}
