import BellhopRules
import Testing

@Suite("Rules for devices")
struct DeviceRuleTests {
    @Test("no device is used, whatever it is, if the user has disabled pushes")
    func pushDisabled() throws {
        let decision = Decision(try DecisionSample.facts("alarm") { $0.recipient.pushEnabled = false })
        #expect(decision.push == .suppress(.pushDisabled))
        #expect(decision.devices.isEmpty)
        #expect(decision.isRecorded)
    }

    @Test("a user without devices gets the notification in the app, without an error")
    func noDevice() throws {
        let decision = Decision(try DecisionSample.facts { $0.recipient.devices = [] })
        #expect(decision.push == .suppress(.noDevice))
        #expect(decision.isRecorded)
    }

    @Test(
        "a device shows what its system permits, and an unknown permission is left to the provider",
        arguments: [
            (.granted, true), (.provisional, true), (nil, true), (.denied, false), (.default, false),
            (.undetermined, false),
        ] as [(PushPermission?, Bool)]
    )
    func permission(permission: PushPermission?, isShown: Bool) throws {
        let decision = Decision(
            try DecisionSample.facts { $0.recipient.devices = [try DecisionSample.device(.ios, .apns, permission)] }
        )
        #expect(decision.outcome(.ios) == (isShown ? .send : .suppress(.noPermission)))
    }

    @Test("every kind of permission is in the table above")
    func allPermissions() {
        #expect(PushPermission.allCases.count == 5)
    }

    @Test("a device of a provider that the app does not use is suppressed immediately")
    func provider() throws {
        let devices = [try DecisionSample.device(.ios, .expo), try DecisionSample.device(.android, .fcm)]
        let decision = Decision(try DecisionSample.facts { $0.recipient.devices = devices })
        #expect(decision.devices.map(\.outcome) == [.suppress(.noProvider), .send])
        let catalog = try DecisionSample.catalog(replacing: #"providers: ["apns", "fcm", "webpush"],"#, with: "")
        let open = Decision(try DecisionSample.facts(in: catalog) { $0.recipient.devices = devices })
        #expect(open.devices.map(\.outcome) == [.send, .send])
    }

    @Test("each device has a separate outcome, in the given order")
    func eachItsOwn() throws {
        let devices = [
            try DecisionSample.device(.web, .webpush, .denied), try DecisionSample.device(.ios, .expo),
            try DecisionSample.device(.android, .fcm),
        ]
        let decision = Decision(try DecisionSample.facts("alarm") { $0.recipient.devices = devices })
        #expect(decision.devices.map(\.device) == devices)
        #expect(decision.devices.map(\.outcome) == [.suppress(.noPermission), .suppress(.noProvider), .send])
    }
}
