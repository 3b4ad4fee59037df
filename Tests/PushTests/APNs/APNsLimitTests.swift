import BellhopRules
import Push
import TestSupport
import Testing

@Suite("APNs' limit of 4096 bytes")
struct APNsLimitTests {
    @Test("a message that fits exactly is unchanged, and one byte more shortens its body")
    func exactFit() throws {
        var message = try SamplePushes.apple()
        let spare = try 4096 - APNsPush.made(of: message).body.count
        message.body += String(repeating: "b", count: spare)
        #expect(try APNsPush.made(of: message).body.count == 4096)
        #expect(try APNsPush.made(of: message).json().body == message.body)
        message.body += "b"
        #expect(try APNsPush.made(of: message).body.count == 4096)
        #expect(try APNsPush.made(of: message).json().body?.hasSuffix("b…") == true)
    }

    @Test("data is omitted as a whole if even short texts do not fit with it, and then the image")
    func bigData() throws {
        var message = try SamplePushes.apple()
        message.data = ["blob": .string(String(repeating: "x", count: 4000)), "small": "y"]
        message.imageURL = "https://cdn.example/a.png"
        var json = try APNsPush.made(of: message).json()
        #expect(json["dataOmitted"] == "true")
        #expect(json["blob"] == nil && json["small"] == nil)
        #expect(json["imageUrl"] == "https://cdn.example/a.png")
        #expect(json["aps"]?["mutable-content"] == 1)
        #expect(json.body == message.body)
        message.imageURL = "https://cdn.example/" + String(repeating: "i", count: 4080)
        json = try APNsPush.made(of: message).json()
        #expect(json["imageUrl"] == nil)
        #expect(json["aps"]?["mutable-content"] == nil)
    }

    @Test("a message that never fits is rejected as too large")
    func neverFits() throws {
        var message = try SamplePushes.apple()
        message.link = .init(web: String(repeating: "w", count: 4096), mobile: "/")
        guard case .refused(let verdict) = APNsPush.draft(of: message, topic: "t") else {
            Issue.record("it cannot fit")
            return
        }
        #expect(verdict == .payloadError(.payloadTooLarge))
    }

    @Test("any message becomes JSON within the limit, or is rejected as too large")
    func random() throws {
        var generator = SeededChance.announced("APNs bodies")
        var refused = 0
        let rounds = SeededChance.rounds(300)
        for round in 0..<rounds {
            var message = try RandomMessage.make(using: &generator)
            message.device.provider = .apns
            message.device.token = try #require(DeviceToken(validating: "ab"))
            switch APNsPush.draft(of: message, topic: "t") {
            case .refused(let verdict):
                #expect(verdict == .payloadError(.payloadTooLarge), "round \(round)")
                refused += 1
            case .push(let push):
                #expect(push.body.count <= 4096, "round \(round)")
                let json = try push.json()
                #expect(json["aps"]?["alert"]?["title"]?.string?.isEmpty == false, "round \(round)")
                #expect(json["notificationId"]?.string == message.notification.text, "round \(round)")
                let keys = json.object?.members.map(\.key) ?? []
                #expect(Set(keys).count == keys.count, "round \(round)")
            }
        }
        #expect(refused < rounds / 2)
    }
}

extension JSONValue {
    /// The body text of a payload.
    fileprivate var body: String? { self["aps"]?["alert"]?["body"]?.string }
}
