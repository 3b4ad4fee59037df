import BellhopRules
import Testing

/// An app for the tests of decisions, and facts of it without obstacles.
enum DecisionSample {
    static let noon = "2026-03-10T12:00:00Z"
    /// 23:00 in Oslo.
    static let night = "2026-03-10T22:00:00Z"
    /// 07:00 in Oslo, when the quiet hours from 22 to 7 are over.
    static let morning = "2026-03-11T06:00:00Z"

    private static let text = """
        {
          app: "shop", language: "en", timezone: "Europe/Oslo", providers: ["apns", "fcm", "webpush"],
          digest: { at: ["08:00", "17:00"], templates: { en: { title: "{count} new" } } },
          types: {
            order: {
              priority: "normal", label: { en: "Orders" },
              quietHours: { ios: "defer", android: "drop", web: "bypass" },
            },
            usual: { priority: "normal", label: { en: "Usual" } },
            alarm: { priority: "high", label: { en: "Alarms" } },
            notice: { priority: "normal", label: { en: "Notices" }, defaults: { push: false } },
            letter: { priority: "normal", label: { en: "Letters" }, defaults: { push: false, email: true } },
            secret: { priority: "normal", label: { en: "Secrets" }, whenMuted: "drop" },
            terms: { priority: "normal", label: { en: "Terms" }, mandatory: true, defaults: { email: true } },
            approval: { priority: "normal", label: { en: "Approvals" }, roles: ["owner", "deputy"] },
            news: { priority: "low", label: { en: "News" }, roles: ["owner"], defaults: { email: true } },
            chatter: { priority: "low", label: { en: "Chatter" }, digest: false },
          },
        }
        """

    /// The zones, which are read once, because the property tests need them for thousands of decisions.
    private static let zones: [TimeZoneName: Zone] = {
        let names = ["Europe/Oslo", "America/New_York", "Asia/Karachi"]
        return names.reduce(into: [:]) { zones, text in
            if let name = try? Zones.name(text), let zone = try? Zones.named(text) { zones[name] = zone }
        }
    }()

    static func catalog(replacing old: String = "", with new: String = "") throws -> Catalog {
        let text = old.isEmpty ? text : text.replacing(old, with: new)
        return try #require(try CatalogSet.load(files: [("shop.json5", Array(text.utf8))]).get().catalogs.first)
    }

    /// Returns facts of a user in Oslo with an address and three devices with permission; nothing is expired, quiet or
    /// muted.
    static func facts(
        _ type: String = "order",
        at now: String = noon,
        in catalog: Catalog? = nil,
        _ change: (inout DecisionFacts) throws -> Void = { _ in }
    ) throws -> DecisionFacts {
        let catalog = try catalog ?? self.catalog()
        let name = try #require(EventType(validating: type))
        var recipient = Recipient()
        recipient.timezone = TimeZoneName(validating: "Europe/Oslo")
        recipient.email = EmailAddress(validating: "ada@example.com")
        recipient.devices = try [device(.ios, .apns), device(.android, .fcm), device(.web, .webpush)]
        var facts = DecisionFacts(
            catalog: catalog,
            type: try #require(catalog[name]),
            recipient: recipient,
            now: try BellhopRulesTests.at(now),
            zone: { zones[$0] }
        )
        try change(&facts)
        return facts
    }

    static func device(
        _ platform: DevicePlatform,
        _ provider: PushProvider,
        _ permission: PushPermission? = .granted
    ) throws -> Device {
        Device(
            subscription: "sub-\(platform.rawValue)",
            token: try #require(DeviceToken(validating: "token-\(platform.rawValue)")),
            platform: platform,
            provider: provider,
            permission: permission
        )
    }

    /// Returns a user's choices in the form in which they are stored.
    static func preferences(
        enabled: Bool = true,
        toggles: JSONObject = [:],
        emailToggles: JSONObject? = nil,
        quiet: ClosedRange<Int>? = nil,
        pausedUntil: String? = nil
    ) -> Preferences {
        var document: JSONObject = ["enabled": .bool(enabled), "eventToggles": .object(toggles)]
        if let emailToggles { document["emailToggles"] = .object(emailToggles) }
        if let pausedUntil { document["pausedUntil"] = .string(pausedUntil) }
        if let quiet {
            document["quietHours"] = [
                "enabled": true, "startHour": .number(JSONNumber(Int64(quiet.upperBound))),
                "endHour": .number(JSONNumber(Int64(quiet.lowerBound))),
            ]
        }
        return Preferences(document)
    }

    /// Quiet hours from 22 to 7.
    static let quietNights = preferences(quiet: 7...22)
}

extension Decision {
    /// Returns the outcome for the device of a platform, whether it was decided alone or together with all devices.
    func outcome(_ platform: DevicePlatform) -> Outcome? {
        push ?? devices.first { $0.device.platform == platform }?.outcome
    }
}
