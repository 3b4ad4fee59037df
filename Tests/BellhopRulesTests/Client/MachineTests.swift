import BellhopRules
import Testing

/// The transitions in the specifications of the apps, each with its event.
@Suite("State machines of clients")
struct MachineTests {
    private static let permissionArrows = [
        ("NotDetermined --> Requesting", PermissionState.Event.requested),
        ("Requesting --> Granted", .allowed),
        ("Requesting --> Denied", .refused),
        ("Granted --> Active", .tokenRegistered),
        ("Active --> Disabled", .turnedOff),
        ("Disabled --> Active", .turnedOn),
        ("Denied --> SettingsRedirect", .settingsPromptShown),
        ("SettingsRedirect --> Granted", .enabledInSettings),
        ("SettingsRedirect --> Denied", .keptDisabled),
    ]

    private static let subscriptionArrows = [
        ("NoSafe --> FirstSafe", SubscriptionState.Event.firstAdded),
        ("NoSafe --> AdditionalSafe", .anotherAdded),
        ("FirstSafe --> Prompted", .promptShown),
        ("Prompted --> PromptAccepted", .accepted),
        ("Prompted --> PromptDismissed", .dismissed),
        ("PromptAccepted --> HasDelegateKey", .proceeded),
        ("PromptDismissed --> Unsubscribed", .proceeded),
        ("AdditionalSafe --> CheckNotifSetting", .proceeded),
        ("CheckNotifSetting --> Unsubscribed", .settingIsOff),
        ("CheckNotifSetting --> HasDelegateKey", .settingIsOn),
        ("HasDelegateKey --> SubscribedOwner", .keyFound),
        ("HasDelegateKey --> SubscribedObserver", .keyMissing),
        ("SubscribedObserver --> SubscribedOwner", .keyAdded),
        ("GlobalNotifications --> GlobalNotifOn", .globallyTurnedOn),
        ("GlobalNotifOn --> IterateSafes", .proceeded),
        ("IterateSafes --> HasDelegateKey", .keyFound),
        ("IterateSafes --> SubscribedObserver", .keyMissing),
        ("GlobalNotifications --> GlobalNotifOff", .globallyTurnedOff),
        ("GlobalNotifOff --> AllUnsubscribed", .proceeded),
        ("Unsubscribed --> SettingsToggledOn", .turnedOn),
        ("SettingsToggledOn --> HasDelegateKey", .proceeded),
        ("SubscribedOwner --> NotificationsDisabled", .turnedOff),
        ("SubscribedObserver --> NotificationsDisabled", .turnedOff),
        ("NotificationsDisabled --> SettingsToggledOn", .turnedOn),
        ("AllUnsubscribed --> NotificationsDisabled", .proceeded),
    ]

    @Test("the permission has every transition of its diagram, and no other")
    func permission() throws {
        var taken = 0
        for state in PermissionState.allCases {
            for event in PermissionState.Event.allCases {
                let arrow = Self.permissionArrows.first { $0.0.hasPrefix("\(state.rawValue) -->") && $0.1 == event }
                let target = arrow?.0.split(separator: " ").last.map(String.init)
                #expect(state.applying(event)?.rawValue == target, "\(state) \(event)")
                var moving = state
                #expect(moving.apply(event) == (target != nil))
                #expect(moving.rawValue == target ?? state.rawValue)
                taken += target == nil ? 0 : 1
            }
        }
        #expect(taken == Self.permissionArrows.count)
    }

    @Test("the subscription has every transition of its diagram, and no other")
    func subscription() throws {
        var taken = 0
        for state in SubscriptionState.allCases {
            for event in SubscriptionState.Event.allCases {
                let arrow = Self.subscriptionArrows.first { $0.0.hasPrefix("\(state.rawValue) -->") && $0.1 == event }
                let target = arrow?.0.split(separator: " ").last.map(String.init)
                #expect(state.applying(event)?.rawValue == target, "\(state) \(event)")
                var moving = state
                #expect(moving.apply(event) == (target != nil))
                #expect(moving.rawValue == target ?? state.rawValue)
                taken += target == nil ? 0 : 1
            }
        }
        #expect(taken == Self.subscriptionArrows.count)
    }

    @Test("the page for apps shows the same transitions")
    func page() throws {
        let page = try Repository.text("docs/client-kit.md")
        let drawn = page.split(separator: "\n").map(String.init).filter { $0.contains(" --> ") && !$0.contains("[*]") }
        let known =
            Self.permissionArrows.map { "\($0.0): \($0.1.rawValue)" }
            + Self.subscriptionArrows.map { "\($0.0): \($0.1.rawValue)" }
        #expect(drawn.map { $0.trimmingPrefix { $0 == " " } }.map(String.init).sorted() == known.sorted())
    }

    @Test("every state is reachable from the initial states")
    func reachable() {
        var permissions: Set<PermissionState> = [.initial]
        for _ in PermissionState.allCases {
            for state in permissions {
                permissions.formUnion(PermissionState.Event.allCases.compactMap(state.applying))
            }
        }
        #expect(permissions == Set(PermissionState.allCases))
        var subscriptions: Set<SubscriptionState> = [.initial, .globalInitial]
        for _ in SubscriptionState.allCases {
            for state in subscriptions {
                subscriptions.formUnion(SubscriptionState.Event.allCases.compactMap(state.applying))
            }
        }
        #expect(subscriptions == Set(SubscriptionState.allCases))
    }

    @Test("each permission state has its value for the server, and each system permission its state at launch")
    func pushPermission() {
        let told = PermissionState.allCases.map { "\($0.rawValue) \($0.permission.rawValue) \($0.receivesPushes)" }
        #expect(
            told == [
                "NotDetermined undetermined false", "Requesting undetermined false", "Granted granted false",
                "Denied denied false", "Active granted true", "Disabled granted false", "SettingsRedirect denied false",
            ]
        )
        let launched = PushPermission.allCases.map { "\($0.rawValue) \(PermissionState(atLaunch: $0).rawValue)" }
        #expect(
            launched == [
                "granted Granted", "denied Denied", "default NotDetermined", "undetermined NotDetermined",
                "provisional Granted",
            ]
        )
    }

    @Test("only states with a role, owner or observer, are subscribed")
    func roles() {
        let roles = SubscriptionState.allCases.compactMap { state in state.role.map { "\(state.rawValue) \($0)" } }
        #expect(roles == ["SubscribedOwner owner", "SubscribedObserver observer"])
    }
}
