import BellhopRules
import Testing

@Suite("Users from files")
struct RecipientDocumentTests {
    private func read(_ text: String) -> Result<RecipientDocument, CatalogFaults> {
        RecipientDocument.read(Array(text.utf8), file: "r.json")
    }

    @Test("every fact that the rules use can be given, in JSON5")
    func everything() throws {
        let document = try read(
            """
            {
              userId: "ada", locale: "nb", timezone: "Europe/Oslo", email: "ada@example.com",
              pushEnabled: false, emailEnabled: false, read: true,
              follow: { role: "owner", muted: true, devices: [2] },
              preferences: { enabled: false, eventToggles: { order: false, unknown: true } },
              devices: [
                { platform: "ios", provider: "apns", permission: "denied", environment: "sandbox", token: "t" },
                { platform: "web", provider: "webpush" },  // of a browser
              ],
            }
            """
        ).get()
        let (recipient, isCanonical) = document.recipient(of: try DecisionSample.catalog())
        #expect(document.user?.text == "ada")
        #expect(document.isRead)
        let owner = FollowRole(validating: "owner")
        #expect(document.follow == DecisionFacts.Follow(role: owner, isMuted: true, devices: ["2"]))
        #expect(recipient.locale?.text == "nb")
        #expect(recipient.timezone?.text == "Europe/Oslo")
        #expect(recipient.email?.text == "ada@example.com")
        #expect(!recipient.pushEnabled && !recipient.emailEnabled)
        #expect(recipient.preferences?.enabled == false)
        #expect(!isCanonical)
        #expect(recipient.devices.map(\.subscription) == ["1", "2"])
        #expect(recipient.devices.map(\.permission) == [.denied, nil])
        #expect(recipient.devices.first?.environment == .sandbox)
        #expect(recipient.devices.first?.token.text == "t")
    }

    @Test(
        "omitted members have their defaults, and null equals absence",
        arguments: ["{}", "{locale: null}"]
    )
    func nothing(text: String) throws {
        let document = try read(text).get()
        let (recipient, isCanonical) = document.recipient(of: try DecisionSample.catalog())
        #expect(recipient == Recipient())
        #expect(isCanonical)
        #expect(document.user == nil && document.follow == nil && !document.isRead)
    }

    @Test("preferences have the canonical and complete form of a feed")
    func preferences() throws {
        let document = try read("{preferences: {enabled: true}}").get()
        let (recipient, isCanonical) = document.recipient(of: try DecisionSample.catalog())
        #expect(recipient.preferences?.wants(try #require(EventType(validating: "notice"))) == false)
        #expect(recipient.preferences?.wants(try #require(EventType(validating: "order"))) == true)
        #expect(!isCanonical)
    }

    @Test("all faults are reported together, with their places, in the order of the file")
    func faults() throws {
        let faults = try #require(
            read(
                """
                {"timezon": "Europe/Oslo", "locale": 7,
                 "devices": [{"platform": "tv", "colour": null}, 3],
                 "follow": {"mutd": true}}
                """
            ).failure?.faults
        )
        #expect(
            faults.map(\.pointer.text) == [
                "/timezon", "/locale", "/devices/0/provider", "/devices/0/platform", "/devices/0/colour", "/devices/1",
                "/follow/mutd",
            ]
        )
        #expect(faults.map(\.line) == [1, 1, 2, 2, 2, 2, 3])
        #expect(faults.first?.message.contains("did you mean timezone?") == true)
    }

    @Test("a document that is not an object is rejected", arguments: ["", "[]", "{", "7"])
    func noObject(text: String) {
        #expect(read(text).failure?.faults.count == 1)
    }
}
