import BellhopRules
import Testing

@Suite("Policies of types")
struct PolicyTests {
    /// Returns a catalogue with one type `t`, whose priority is normal unless given.
    private func load(_ app: String = "", _ type: String = "", priority: String = "normal") throws -> Catalog {
        let text = """
            {app: "a", language: "en", timezone: "UTC", \(app)
             types: {t: {priority: "\(priority)", label: {en: "T"}, \(type)}}}
            """
        return try #require(try CatalogSet.load(files: [("a.json5", Array(text.utf8))]).get().catalogs.first)
    }

    @Test("every omitted policy has a default", arguments: Priority.allCases)
    func defaults(priority: Priority) throws {
        let catalog = try load(priority: priority.rawValue)
        let type = try #require(catalog.types.first)
        #expect(!type.isMandatory && type.pushByDefault && !type.isGathered && type.setsBadge)
        #expect(type.emailByDefault == (priority == .high))
        #expect(type.hasSound == (priority != .low))
        #expect(type.whenMuted == .record)
        #expect(type.roles == nil && type.lifetime == nil && type.retryLimit == nil && type.link == nil)
        #expect(type.reaches(nil))
        #expect(type.android.channel == nil && type.android.sound == nil)
        #expect(type.android.visibility == nil && type.android.importance == nil)
        #expect(type.apple.sound == nil && type.apple.category == nil && type.apple.thread == nil)
        #expect(type.apple.interruptionLevel == nil && !type.apple.isMutable)
        for platform in DevicePlatform.allCases {
            #expect(type.quietHours[platform] == (priority == .high ? .bypass : .defer))
        }
        #expect(catalog.settings.quietHours == .usual)
        #expect(catalog.settings.masterLabels.isEmpty && catalog.settings.quietHoursLabels.isEmpty)
        #expect(catalog.providers == nil && catalog.digest == nil)
    }

    @Test("every policy is read")
    func everything() throws {
        let type = try #require(
            try load(
                "",
                """
                whenMuted: "drop", roles: ["owner", "admin"], expiresAfter: "90s", quietHours: "drop", retryLimit: 3,
                sound: false, badge: false, defaults: {push: false, email: true},
                android: {channel: "c", visibility: "secret", importance: "min", sound: "ding"},
                apns: {sound: "ding.caf", category: "k", thread: "th", interruptionLevel: "time-sensitive",
                       mutableContent: true},
                """
            ).types.first
        )
        #expect(type.whenMuted == .drop)
        #expect(type.roles?.map(\.text).sorted() == ["admin", "owner"])
        #expect(type.lifetime?.seconds == 90)
        #expect(DevicePlatform.allCases.allSatisfy { type.quietHours[$0] == .drop })
        #expect(type.retryLimit == 3)
        #expect(!type.hasSound && !type.setsBadge && !type.pushByDefault && type.emailByDefault)
        #expect(type.android.channel == "c" && type.android.sound == "ding")
        #expect(type.android.visibility == .nothing && type.android.importance == .min)
        #expect(type.apple.sound == "ding.caf" && type.apple.category == "k" && type.apple.thread == "th")
        #expect(type.apple.interruptionLevel == .timeSensitive && type.apple.isMutable)
    }

    @Test("the app's settings apply to all types, and a type's own take precedence, key by key")
    func override() throws {
        let app = """
            android: {channel: "all", visibility: "public"}, apns: {mutableContent: true, thread: "x"},
            quietHours: {web: "drop", ios: "bypass"},
            """
        let type = try #require(
            try load(app, "android: {channel: 'own'}, apns: {mutableContent: false}, quietHours: {ios: 'defer'}").types
                .first
        )
        #expect(type.android.channel == "own" && type.android.visibility == .everything)
        #expect(type.apple.thread == "x" && !type.apple.isMutable)
        #expect(type.quietHours[.ios] == .defer)
        #expect(type.quietHours[.web] == .drop)
        #expect(type.quietHours[.android] == .defer)
    }

    @Test("the badge is for iOS or for the requested platforms, and not for a type that does not count")
    func badges() throws {
        #expect(try load().badgePlatforms == [.ios])
        let asking = try load("badgePlatforms: ['web', 'android'],")
        #expect(asking.badgePlatforms == [.web, .android] && asking.types.first?.badgePlatforms == [.web, .android])
        let uncounted = try load("badgePlatforms: ['web', 'android'],", "badge: false")
        #expect(uncounted.badgePlatforms.isEmpty && uncounted.types.first?.badgePlatforms.isEmpty == true)
    }

    @Test("a high priority ignores quiet hours unless the type defines otherwise")
    func urgent() throws {
        let app = "quietHours: 'drop',"
        #expect(try load(app, priority: "high").types.first?.quietHours[.ios] == .bypass)
        #expect(try load(app, "quietHours: 'defer'", priority: "high").types.first?.quietHours[.ios] == .defer)
        #expect(try load(app, priority: "low").types.first?.quietHours[.ios] == .drop)
    }

    @Test("a low priority is gathered if the app has a digest, and other types if they request it")
    func gathered() throws {
        let digest = "digest: {at: ['17:00', '08:00'], days: ['mon'], templates: {en: {title: '{count}'}}},"
        #expect(try load(digest, priority: "low").types.first?.isGathered == true)
        #expect(try load(digest, "digest: false", priority: "low").types.first?.isGathered == false)
        #expect(try load(digest).types.first?.isGathered == false)
        #expect(try load(digest, "digest: true").types.first?.isGathered == true)
        let policy = try #require(try load(digest).digest)
        #expect(policy.times.map(\.description) == ["08:00", "17:00"])
        #expect(policy.days == [.monday])
        #expect(policy.titleCount == 3)
    }

    @Test("a mandatory type is read as mandatory")
    func mandatory() throws {
        #expect(try load("", "mandatory: true").types.first?.isMandatory == true)
    }

    @Test("an event's expiry takes precedence, and otherwise the lifetime counts from delivery, sending or arrival")
    func expiry() throws {
        let type = try #require(try load("", "expiresAfter: '2h'").types.first)
        let forever = try #require(try load().types.first)
        let arrival = try #require(Timestamp(validating: "2026-03-01T10:00:00Z"))
        func expiry(_ fields: JSONObject, _ type: CatalogType) throws -> String? {
            try type.expiry(of: AppEvents.event("daily", "daily_reminder", fields), arrival: arrival)?.description
        }
        #expect(try expiry([:], type) == Timestamp(validating: "2026-03-01T12:00:00Z")?.description)
        let sent: JSONObject = ["sentAtIso": "2026-03-01T09:30:00Z"]
        #expect(try expiry(sent, type) == Timestamp(validating: "2026-03-01T11:30:00Z")?.description)
        let later: JSONObject = ["sentAtIso": "2026-03-01T09:30:00Z", "deliverAt": "2026-03-05T08:00:00Z"]
        #expect(try expiry(later, type) == Timestamp(validating: "2026-03-05T10:00:00Z")?.description)
        let own: JSONObject = ["expiresAt": "2026-03-01T10:00:01Z", "deliverAt": "2026-03-01T10:00:00Z"]
        #expect(try expiry(own, type) == Timestamp(validating: "2026-03-01T10:00:01Z")?.description)
        #expect(try expiry([:], forever) == nil)
        #expect(try expiry(["expiresAt": "9999-12-31T23:59:59Z"], forever) != nil)
    }

    @Test("a lifetime that would end after the year 9999 ends there")
    func farExpiry() throws {
        let lifetime = try #require(Lifetime(validating: "365d"))
        let late = Timestamp(clamping: .max)
        #expect(lifetime.end(from: late) == late)
    }

    @Test(
        "lifetimes are whole numbers with a unit",
        arguments: [
            ("1s", 1), ("90s", 90), ("5m", 300), ("24h", 86_400), ("365d", 31_536_000), ("0s", nil), ("366d", nil),
            ("8761h", nil), ("1.5h", nil), ("-1h", nil), ("h", nil), ("24", nil), ("", nil), ("24 h", nil),
            ("24H", nil),
            ("99999999999999999999d", nil), ("٣h", nil), ("+1h", nil), ("1w", nil),
        ] as [(String, Int64?)]
    )
    func lifetimes(text: String, seconds: Int64?) {
        #expect(Lifetime(validating: text)?.seconds == seconds)
    }
}
