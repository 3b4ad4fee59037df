import BellhopRules
import Push
import Testing

/// Tests the members of a push that its app can read, for every provider.
@Suite("Client data in a push")
struct ClientNamesTests {
    private static let head = "app: 'a', language: 'en', timezone: 'UTC'"

    /// Returns the presentation of a type with these settings of its app and its type.
    private static func presentation(_ app: String = "", _ type: String = "") throws -> PushPresentation {
        let text = "{\(head), \(app) types: {t: {priority: 'normal', label: {en: 'T'}, \(type)}}}"
        let catalogs = try CatalogSet.load(files: [("a.json5", Array(text.utf8))]).get()
        let catalog = try #require(catalogs.catalogs.first)
        return PushPresentation(try #require(catalog.types.first))
    }

    /// Returns the data that each provider's client receives, as JSON.
    private static func found(_ change: (inout PushMessage) throws -> Void) throws -> [String: JSONValue] {
        var found: [String: JSONValue] = [:]
        let ways: [(String, DevicePlatform)] = [
            ("fcm", .android), ("expo", .android), ("webpush", .web), ("apns", .ios),
        ]
        for (name, platform) in ways {
            var message = try SamplePushes.full(platform)
            message.sentAt = SamplePushes.now
            try change(&message)
            switch name {
            case "fcm":
                let bytes = try #require(FCMRequest.body(of: message, now: SamplePushes.now))
                found[name] = try ReadBody(bytes)["/data"]
            case "expo":
                let bytes = try #require(ExpoMessage.bytes(of: message, now: SamplePushes.now))
                found[name] = try JSONParser().parse(bytes).get()["data"]
            case "webpush":
                let bytes = try #require(WebPushPayload.bytes(of: message, atMost: 3993))
                found[name] = try JSONParser().parse(bytes).get()
            default:
                message.device.provider = .apns
                message.device.token = try #require(DeviceToken(validating: "00fc13adff785122"))
                found[name] = try APNsPush.made(of: message).json()
            }
        }
        return found
    }

    @Test("every provider's client gets the same values under the names of each app's specification")
    func everywhere() throws {
        for (provider, client) in try Self.found({ _ in }) {
            #expect(client["notificationId"] == "noti_00000000000000ab", "\(provider)")
            #expect(client["type"] == "transaction_complete", "\(provider)")
            #expect(client["eventType"] == client["type"], "\(provider)")
            #expect(client["targetId"] == "tx_rem_1", "\(provider)")
            #expect(client["venueId"] == "42" && client["venue_id"] == "42", "\(provider)")
            #expect(client["sentAtIso"] == "2026-02-15T13:45:00.000Z", "\(provider)")
            let route = provider == "webpush" ? "/transactions?id=tx_rem_1" : "/transactions/tx_rem_1"
            #expect(client["route"]?.string == route, "\(provider)")
            let metadata: JSONValue = provider == "fcm" ? #"{"matchId":"m-1"}"# : ["matchId": "m-1"]
            #expect(client["metadata"] == metadata, "\(provider)")
            let badge: JSONValue? = provider == "apns" ? nil : provider == "fcm" ? "4" : 4
            #expect(client["badge"] == badge, "\(provider)")
        }
    }

    @Test("a digest is marked as one and contains its count")
    func digest() throws {
        let clients = try Self.found { message in
            message.type = try #require(EventType(validating: "digest"))
            message.digestCount = 7
        }
        for (provider, client) in clients {
            let isText = provider == "fcm"
            #expect(client["type"] == "digest" && client["eventType"] == "digest", "\(provider)")
            #expect(client["digest"] == (isText ? "true" : true), "\(provider)")
            #expect(client["count"] == (isText ? "7" : 7), "\(provider)")
        }
    }

    @Test("an app gets only the members that its catalogue lists, under the catalogue's names")
    func chosen() throws {
        let clients = try Self.found { message in
            let names = "clientData: {type: 'kind', targetId: true, metadata: 'more', sentAtIso: 'sent'},"
            message.presentation = try Self.presentation(names)
        }
        let expected: JSONObject = [
            "kind": "transaction_complete", "targetId": "tx_rem_1", "more": ["matchId": "m-1"],
            "sent": "2026-02-15T13:45:00.000Z",
        ]
        #expect(clients["expo"] == .object(expected))
        #expect(clients["fcm"]?.object?.members.map(\.key) == ["kind", "targetId", "more", "sent"])
        let apple = clients["apns"]?.object?.members.map(\.key).filter { $0 != "aps" && $0 != "imageUrl" }
        #expect(apple == ["kind", "targetId", "more", "sent"])
        // The service worker gets its members, whatever else the app requests.
        let web = try #require(clients["webpush"])
        #expect(web["id"] == "noti_00000000000000ab" && web["type"] == "transaction_complete" && web["url"] != nil)
        #expect(web["kind"] == "transaction_complete" && web["data"] == nil && web["venueId"] == nil)
    }

    @Test("a name that the catalogue frees may be the event's, and a used name never appears twice")
    func freed() throws {
        let clients = try Self.found { message in
            message.presentation = try Self.presentation("clientData: {type: 'kind', data: true},")
            message.data = ["type": "mine", "kind": "not mine", "venueId": "mine"]
        }
        #expect(clients["expo"] == ["kind": "transaction_complete", "type": "mine", "venueId": "mine"])
    }

    @Test(
        "reserved names, duplicate names and unknown members are faults",
        arguments: [
            "{type: 'aps'}", "{type: 'google.x'}", "{type: 'a', eventType: 'a'}", "{type: false}", "{colour: true}",
            "{data: 'all'}", "{type: ''}", "{type: 'targetId', targetId: true}",
        ]
    )
    func faults(_ names: String) {
        let setting = "clientData: \(names),"
        let accepted = try? Self.presentation(setting)
        #expect(accepted == nil)
    }

    @Test("an Android app that draws notifications gets only data, with text and looks, and with high priority")
    func drawnByApp() throws {
        var message = try SamplePushes.full(.android)
        message.presentation.android.display = .app
        message.presentation.urgency = .low
        message.data["title"] = "the event's own"
        let body = try ReadBody(try #require(FCMRequest.body(of: message, now: SamplePushes.now)))
        #expect(body["/notification"] == nil && body["/android/notification"] == nil)
        #expect(body["/android"] == ["priority": "HIGH", "ttl": "3600s"])
        let looks = [
            "title": "Betaling mottatt", "body": "Du har mottatt 2 000 kr", "tag": "noti_00000000000000ab",
            "channelId": "payments", "visibility": "public", "importance": "high", "sound": "ding", "icon": "ic_pay",
            "color": "#0B6E35", "badge": "4", "imageUrl": "https://cdn.example/a.png",
        ]
        for (name, value) in looks { #expect(body.data[name] == value, "\(name)") }
        #expect(body["/data"]?.object?.members.count { $0.key == "title" } == 1)
        message.device.platform = .ios
        let apple = try ReadBody(try #require(FCMRequest.body(of: message, now: SamplePushes.now)))
        #expect(apple["/notification/title"] == "Betaling mottatt")
    }

    @Test("texts too long for a push of data alone are cut in the same way")
    func drawnAndCut() throws {
        var message = try SamplePushes.full(.android)
        message.presentation.android.display = .app
        message.body = String(repeating: "a", count: 8000)
        let body = try ReadBody(try #require(FCMRequest.body(of: message, now: SamplePushes.now)))
        #expect(body.byteCount == 4096)
        #expect(body.data["body"]?.hasSuffix("a…") == true)
    }

    @Test("the urgency for the device is that of the catalogue, and otherwise follows from the priority")
    func urgency() throws {
        let android = "android: {icon: 'ic_stat'},"
        var message = try SamplePushes.full(.android)
        message.presentation = try Self.presentation(android, "deviceUrgency: 'high'")
        message.priority = .low
        let body = try ReadBody(try #require(FCMRequest.body(of: message, now: SamplePushes.now)))
        #expect(body["/android/priority"] == "HIGH")
        #expect(body["/android/notification/icon"] == "ic_stat")
        let headers = WebPushRequest.headers(of: message, now: SamplePushes.now)
        #expect(headers.first { $0.name == "urgency" }?.value == "high")
        message.presentation = try Self.presentation(android, "deviceUrgency: 'low'")
        message.priority = .high
        message.device.platform = .ios
        message.device.provider = .apns
        message.device.token = try #require(DeviceToken(validating: "00fc13adff785122"))
        #expect(try APNsPush.made(of: message).header("apns-priority") == "5")
        let payload = try #require(WebPushPayload.bytes(of: message, atMost: 3993))
        #expect(try JSONParser().parse(payload).get()["priority"] == "high")
    }
}
