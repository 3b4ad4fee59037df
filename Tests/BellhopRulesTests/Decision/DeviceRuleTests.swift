import BellhopRules
import Testing

@Suite("The rules for devices")
struct DeviceRuleTests {
    @Test("devices that are not to be used are not used, whatever they are")
    func pushDisabled() throws {
        let decision = Decision(try Shop.facts("alarm") { $0.recipient.pushEnabled = false })
        #expect(decision.push == .suppress(.pushDisabled))
        #expect(decision.devices.isEmpty)
        #expect(decision.isRecorded)
    }

    @Test("no device is no fault: it is in the app")
    func noDevice() throws {
        let decision = Decision(try Shop.facts { $0.recipient.devices = [] })
        #expect(decision.push == .suppress(.noDevice))
        #expect(decision.isRecorded)
    }

    @Test(
        "a device shows what its system allows; where nobody said, the provider will tell",
        arguments: [
            (.granted, true), (.provisional, true), (nil, true), (.denied, false), (.default, false),
            (.undetermined, false),
        ] as [(PushPermission?, Bool)]
    )
    func permission(permission: PushPermission?, isShown: Bool) throws {
        let decision = Decision(
            try Shop.facts { $0.recipient.devices = [try Shop.device(.ios, .apns, permission)] }
        )
        #expect(decision.outcome(.ios) == (isShown ? .send : .suppress(.noPermission)))
    }

    @Test("every kind of permission is in the table above")
    func allPermissions() {
        #expect(PushPermission.allCases.count == 5)
    }

    @Test("a device of a provider that the app does not use waits for no one")
    func provider() throws {
        let devices = [try Shop.device(.ios, .expo), try Shop.device(.android, .fcm)]
        let decision = Decision(try Shop.facts { $0.recipient.devices = devices })
        #expect(decision.devices.map(\.outcome) == [.suppress(.noProvider), .send])
        let catalog = try Shop.catalog(replacing: #"providers: ["apns", "fcm", "webpush"],"#, with: "")
        let open = Decision(try Shop.facts(in: catalog) { $0.recipient.devices = devices })
        #expect(open.devices.map(\.outcome) == [.send, .send])
    }

    @Test("each device has an answer of its own, in the order in which they are known")
    func eachItsOwn() throws {
        let devices = [
            try Shop.device(.web, .webpush, .denied), try Shop.device(.ios, .expo), try Shop.device(.android, .fcm),
        ]
        let decision = Decision(try Shop.facts("alarm") { $0.recipient.devices = devices })
        #expect(decision.devices.map(\.device) == devices)
        #expect(decision.devices.map(\.outcome) == [.suppress(.noPermission), .suppress(.noProvider), .send])
    }
}
