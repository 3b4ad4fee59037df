import BellhopRules
import Testing

@Suite("Keys of a catalogue")
struct CatalogKeyTests {
    /// Returns a minimal catalogue with these members of the app and of its one type.
    static func file(_ app: String, _ type: String = "") -> [UInt8] {
        let text = """
            {app: "a", language: "en", timezone: "UTC", \(app)
             types: {t: {priority: "normal", label: {en: "T"}, \(type)}}}
            """
        return Array(text.utf8)
    }

    /// One fault in an otherwise valid catalogue.
    struct Wrong: Sendable {
        var app = ""
        var type = ""
        let pointer: String
        let part: String
        /// Whether only the reader can detect it.
        var isBeyondSchema = false
    }

    private static let button = "{label: {en: 'L'}, link: {web: '/', mobile: '/'}}"

    private static let sixTags = ["a", "b", "c", "d", "e", "f"].map { "\($0): {en: 'T'}" }.joined(separator: ", ")

    static let bad: [Wrong] = [
        Wrong(app: "oops: 1,", pointer: "/oops", part: "unknown key"),
        Wrong(app: "providers: [],", pointer: "/providers", part: "at least one"),
        Wrong(app: "providers: 'fcm',", pointer: "/providers", part: "a list"),
        Wrong(app: "providers: ['fcm', 'post'],", pointer: "/providers/1", part: "one of apns, fcm, expo, webpush"),
        Wrong(app: "providers: ['fcm', 'fcm'],", pointer: "/providers/1", part: "in this list already"),
        Wrong(app: "badgePlatforms: 'ios',", pointer: "/badgePlatforms", part: "a list"),
        Wrong(app: "badgePlatforms: [],", pointer: "/badgePlatforms", part: "at least one"),
        Wrong(app: "badgePlatforms: ['ios', 'tv'],", pointer: "/badgePlatforms/1", part: "one of ios, android, web"),
        Wrong(app: "badgePlatforms: ['web', 'web'],", pointer: "/badgePlatforms/1", part: "in this list already"),
        Wrong(app: "badgePlatform: ['web'],", pointer: "/badgePlatform", part: "mean badgePlatforms"),
        Wrong(app: "aliases: {'a b': 'c'},", pointer: "/aliases/a b", part: "names"),
        Wrong(app: "phrases: {p: 'x'},", pointer: "/phrases/p", part: "an object"),
        Wrong(app: "phrases: {p: {en: ''}},", pointer: "/phrases/p/en", part: "non-empty"),
        Wrong(app: "phrases: {'p q': {en: 'x'}},", pointer: "/phrases/p q", part: "a name"),
        Wrong(app: "phrases: {p: {nb: 'x'}},", pointer: "/phrases/p", part: "own language en", isBeyondSchema: true),
        Wrong(app: "phrases: {p: {en: '{'}},", pointer: "/phrases/p/en", part: "without", isBeyondSchema: true),
        Wrong(
            app: "link: {web: '/{a, number}', mobile: '/'},",
            pointer: "/link/web",
            part: "names alone",
            isBeyondSchema: true
        ),
        Wrong(app: "routes: {schema: '/x'},", pointer: "/routes/schema", part: "paths such as /schema"),
        Wrong(app: "routes: {'/schema/': '/x'},", pointer: "/routes/~1schema~1", part: "paths such as"),
        Wrong(app: "routes: {'/': '/x'},", pointer: "/routes/~1", part: "paths such as"),
        Wrong(app: "routes: {'/a': '/b?c'},", pointer: "/routes/~1a", part: "paths such as"),
        Wrong(app: "routes: {'/a': 5},", pointer: "/routes/~1a", part: "paths such as"),
        Wrong(
            app: "routes: {'/a': '/b', '/b': '/c'},",
            pointer: "/routes/~1a",
            part: "rewritten itself",
            isBeyondSchema: true
        ),
        Wrong(app: "routes: {'/a': '/a/b'},", pointer: "/routes/~1a", part: "rewritten itself", isBeyondSchema: true),
        Wrong(app: "topics: {fold: ['safe']},", pointer: "/topics/fold", part: "unknown key"),
        Wrong(app: "topics: {foldCase: ['safe:1']},", pointer: "/topics/foldCase/0", part: "without a colon"),
        Wrong(app: "topics: {venueId: 'venue:'},", pointer: "/topics/venueId", part: "without a colon"),
        Wrong(app: "clientsMaySetEmail: 'no',", pointer: "/clientsMaySetEmail", part: "true or false"),
        Wrong(app: "readOnView: 'yes',", pointer: "/readOnView", part: "true or false"),
        Wrong(app: "idFromContent: 1,", pointer: "/idFromContent", part: "true or false"),
        Wrong(app: "cap: {perHour: 5},", pointer: "/cap", part: "no digest", isBeyondSchema: true),
        Wrong(type: "audience: 'all'", pointer: "/types/t/audience", part: "everyone"),
        Wrong(type: "audience: {topic: ''}", pointer: "/types/t/audience/topic", part: "1 to 255"),
        Wrong(
            type: "audience: {topic: 'a:{b, number}'}",
            pointer: "/types/t/audience/topic",
            part: "names alone",
            isBeyondSchema: true
        ),
        Wrong(app: "audience: {topic: '{'},", pointer: "/audience/topic", part: "without", isBeyondSchema: true),
        Wrong(app: "audience: 'nobody',", pointer: "/audience", part: "everyone"),
        Wrong(app: "badge: 'no',", pointer: "/badge", part: "true or false"),
        Wrong(type: "burst: {}", pointer: "/types/t/burst/window", part: "found no value"),
        Wrong(
            type: "burst: {window: '2h'}",
            pointer: "/types/t/burst/window",
            part: "at most 1h",
            isBeyondSchema: true
        ),
        Wrong(
            app: "digest: {at: ['08:00'], templates: {en: {title: 'T'}}},",
            type: "digest: true, burst: {window: '60s'}",
            pointer: "/types/t/burst",
            part: "gathered",
            isBeyondSchema: true
        ),
        Wrong(app: "preferences: {mastre: {}},", pointer: "/preferences/mastre", part: "mean master"),
        Wrong(app: "preferences: {master: {}},", pointer: "/preferences/master/label", part: "found no value"),
        Wrong(
            app: "preferences: {quietHours: {startHour: 24}},",
            pointer: "/preferences/quietHours/startHour",
            part: "from 0 to 23"
        ),
        Wrong(
            app: "preferences: {quietHours: {endHour: 7.5}},",
            pointer: "/preferences/quietHours/endHour",
            part: "a whole number"
        ),
        Wrong(
            app: "preferences: {quietHours: {enabled: 'no'}},",
            pointer: "/preferences/quietHours/enabled",
            part: "true or false"
        ),
        Wrong(app: "quietHours: 'later',", pointer: "/quietHours", part: "one of defer, drop, bypass"),
        Wrong(app: "quietHours: {ios: 'later'},", pointer: "/quietHours/ios", part: "one of defer, drop, bypass"),
        Wrong(app: "quietHours: {iso: 'drop'},", pointer: "/quietHours/iso", part: "mean ios"),
        Wrong(app: "digest: {templates: {en: {title: 'T'}}},", pointer: "/digest/at", part: "found no value"),
        Wrong(app: "digest: {at: ['08:00']},", pointer: "/digest/templates", part: "found no value"),
        Wrong(
            app: "digest: {at: ['8:00'], templates: {en: {title: 'T'}}},",
            pointer: "/digest/at/0",
            part: "local time"
        ),
        Wrong(
            app: "digest: {at: ['08:00'], days: ['monday'], templates: {en: {title: 'T'}}},",
            pointer: "/digest/days/0",
            part: "mon, tue"
        ),
        Wrong(
            app: "digest: {at: ['08:00'], titles: 0, templates: {en: {title: 'T'}}},",
            pointer: "/digest/titles",
            part: "from 1 to 20"
        ),
        Wrong(
            app: "digest: {at: ['08:00'], templates: {en: {title: '{n}'}}},",
            pointer: "/digest/templates/en/title",
            part: "known are count, titles, more",
            isBeyondSchema: true
        ),
        Wrong(app: "android: {chanel: 'x'},", pointer: "/android/chanel", part: "mean channel"),
        Wrong(app: "apns: {mutableContent: 1},", pointer: "/apns/mutableContent", part: "true or false"),
        Wrong(type: "mandatory: 'yes'", pointer: "/types/t/mandatory", part: "true or false"),
        Wrong(
            type: "mandatory: true, defaults: {push: false}",
            pointer: "/types/t/defaults/push",
            part: "never off",
            isBeyondSchema: true
        ),
        Wrong(
            type: "mandatory: true, whenMuted: 'drop'",
            pointer: "/types/t/whenMuted",
            part: "never muted",
            isBeyondSchema: true
        ),
        Wrong(type: "whenMuted: 'keep'", pointer: "/types/t/whenMuted", part: "one of record, drop"),
        Wrong(type: "roles: []", pointer: "/types/t/roles", part: "at least one"),
        Wrong(type: "roles: ['the owner']", pointer: "/types/t/roles/0", part: "letters, digits"),
        Wrong(type: "expiresAfter: 24", pointer: "/types/t/expiresAfter", part: "such as 90s or 24h"),
        Wrong(type: "expiresAfter: '0h'", pointer: "/types/t/expiresAfter", part: "such as 90s or 24h"),
        Wrong(
            type: "expiresAfter: '400d'",
            pointer: "/types/t/expiresAfter",
            part: "at most 365d",
            isBeyondSchema: true
        ),
        Wrong(type: "quietHours: true", pointer: "/types/t/quietHours", part: "one of defer"),
        Wrong(type: "digest: true", pointer: "/types/t/digest", part: "the app has no digest", isBeyondSchema: true),
        Wrong(type: "digest: 'yes'", pointer: "/types/t/digest", part: "true or false"),
        Wrong(type: "retryLimit: 0", pointer: "/types/t/retryLimit", part: "from 1 to 100"),
        Wrong(type: "retryLimit: 1e2", pointer: "/types/t/retryLimit", part: "a whole number", isBeyondSchema: true),
        Wrong(type: "sound: 'ding'", pointer: "/types/t/sound", part: "true or false"),
        Wrong(type: "badge: 1", pointer: "/types/t/badge", part: "true or false"),
        Wrong(type: "android: 'x'", pointer: "/types/t/android", part: "an object"),
        Wrong(
            type: "android: {visibility: 'PUBLIC'}",
            pointer: "/types/t/android/visibility",
            part: "one of public, private, secret"
        ),
        Wrong(type: "android: {importance: 5}", pointer: "/types/t/android/importance", part: "one of min, low"),
        Wrong(type: "android: {sound: ''}", pointer: "/types/t/android/sound", part: "one line"),
        Wrong(
            type: "apns: {interruptionLevel: 'timeSensitive'}",
            pointer: "/types/t/apns/interruptionLevel",
            part: "time-sensitive"
        ),
        Wrong(type: "apns: {thread: 7}", pointer: "/types/t/apns/thread", part: "one line"),
        Wrong(
            type: "link: {web: '/', mobile: '/', schema: 'a://b'}",
            pointer: "/types/t/link/schema",
            part: "mean scheme"
        ),
        Wrong(app: "tags: {},", pointer: "/tags", part: "1 to 10 tags"),
        Wrong(app: "tags: ['a'],", pointer: "/tags", part: "an object"),
        Wrong(app: "tags: {'a.b': {en: 'A'}},", pointer: "/tags/a.b", part: "1 to 32 letters"),
        Wrong(app: "tags: {a: {en: 'A'}},", pointer: "/tags/a", part: "no type has", isBeyondSchema: true),
        Wrong(type: "tags: ['a']", pointer: "/types/t/tags/0", part: "the app has none", isBeyondSchema: true),
        Wrong(
            app: "tags: {a: {en: 'A'}},",
            type: "tags: ['a', 'b']",
            pointer: "/types/t/tags/1",
            part: "one of a",
            isBeyondSchema: true
        ),
        Wrong(app: "tags: {a: {en: 'A'}},", type: "tags: ['a', 'a']", pointer: "/types/t/tags/1", part: "already"),
        Wrong(
            app: "tags: {\(sixTags)},",
            type: "tags: ['a', 'b', 'c', 'd', 'e', 'f']",
            pointer: "/types/t/tags",
            part: "at most 5"
        ),
        Wrong(type: "actions: []", pointer: "/types/t/actions", part: "1 to 3 buttons"),
        Wrong(type: "actions: {}", pointer: "/types/t/actions", part: "1 to 3 buttons"),
        Wrong(
            type: "actions: [\(button), \(button), \(button), \(button)]",
            pointer: "/types/t/actions",
            part: "1 to 3 buttons"
        ),
        Wrong(type: "actions: [\(button), 'x']", pointer: "/types/t/actions/1", part: "an object"),
        Wrong(
            type: "actions: [{label: {en: 'L'}}]",
            pointer: "/types/t/actions/0/link",
            part: "found no value"
        ),
        Wrong(
            type: "actions: [{link: {web: '/', mobile: '/'}}]",
            pointer: "/types/t/actions/0/label",
            part: "found no value"
        ),
        Wrong(
            type: "actions: [{label: {en: 'L'}, link: {web: 'https://a', mobile: '/'}}]",
            pointer: "/types/t/actions/0/link/web",
            part: "begins with /"
        ),
        Wrong(
            type: "actions: [{label: {en: 'L'}, url: '/', link: {web: '/', mobile: '/'}}]",
            pointer: "/types/t/actions/0/url",
            part: "unknown key"
        ),
        Wrong(
            type: "actions: [{label: {en: 'a\\nb'}, link: {web: '/', mobile: '/'}}]",
            pointer: "/types/t/actions/0/label/en",
            part: "one line"
        ),
        Wrong(
            type: "actions: [{label: {nb: 'L'}, link: {web: '/', mobile: '/'}}]",
            pointer: "/types/t/actions/0/label",
            part: "own language en",
            isBeyondSchema: true
        ),
        Wrong(
            type: "actions: [{label: {en: '{'}, link: {web: '/', mobile: '/'}}]",
            pointer: "/types/t/actions/0/label/en",
            part: "without",
            isBeyondSchema: true
        ),
        Wrong(
            type: "actions: [{label: {en: 'L'}, link: {web: '/{a, number}', mobile: '/'}}]",
            pointer: "/types/t/actions/0/link/web",
            part: "names alone",
            isBeyondSchema: true
        ),
        Wrong(type: "color: '#12345G'", pointer: "/types/t/color", part: "a colour"),
    ]

    /// Valid members of an app and of its type.
    static let good: [(app: String, type: String)] = [
        ("", ""), ("providers: ['webpush', 'fcm'],", ""), ("aliases: {a: 'b.c'},", ""),
        ("phrases: {p: {en: 'x', 'nb-NO': '{a}'}},", "templates: {en: {title: '{p, phrase}'}}"),
        ("link: {web: '/', mobile: '/{a.b}', scheme: 'x://{a}'},", ""), ("routes: {'/a': '/b', '/a/b': '/c'},", ""),
        ("badgePlatforms: ['web', 'android', 'ios'],", ""),
        ("topics: {foldCase: ['safe', 'Å']},", ""), ("topics: {},", ""), ("clientsMaySetEmail: false,", ""),
        ("readOnView: true,", ""),
        ("topics: {venueId: 'venue'}, idFromContent: true,", "audience: 'everyone'"),
        ("", "audience: {topic: 'news'}, burst: {window: '1h'}"),
        ("audience: 'everyone', badge: false,", "audience: {topic: 'a:{venueId}:{b.c}'}, badge: true"),
        ("digest: {at: ['08:00'], templates: {en: {title: 'T'}}}, cap: {perHour: 100},", "burst: {window: '60s'}"),
        ("preferences: {},", ""),
        ("preferences: {master: {label: {en: 'x', sv: 'y'}}, quietHours: {}},", ""),
        ("preferences: {quietHours: {label: {en: 'x'}, enabled: true, startHour: 0, endHour: 23}},", ""),
        ("quietHours: 'drop',", "quietHours: {ios: 'bypass'}"), ("quietHours: {},", "quietHours: 'defer'"),
        (
            "digest: {at: ['08:00', '00:00'], days: ['sun'], titles: 20, templates: {en: {title: '{count}'}}},",
            "digest: true"
        ),
        (
            "android: {channel: 'c'}, apns: {},",
            "android: {visibility: 'private'}, apns: {interruptionLevel: 'critical'}"
        ),
        ("", "mandatory: true, roles: ['a', 'b'], expiresAfter: '365d', retryLimit: 100, sound: true, badge: false"),
        ("", "whenMuted: 'drop', icon: 'x', color: '#abcdef', background: '#ABCDEF', defaults: {}"),
        ("tags: {b_2: {en: 'B'}, A: {en: 'A', nb: 'Å'}},", "tags: ['A', 'b_2']"),
        ("", "actions: [\(button), \(button), \(button)]"),
        ("", "actions: [{label: {en: '{n, plural, other {#}}'}, link: {web: '/{a}', mobile: '/', scheme: 'x://{a}'}}]"),
        ("", "templates: {en: {title: 'T'}, EN_gb: {title: 'T', body: 'B\\n'}}"),
    ]

    @Test("each fault is detected, without others, at its place", arguments: bad.indices)
    func fault(index: Int) throws {
        let row = Self.bad[index]
        let file = Self.file(row.app, row.type)
        let found = CatalogSet.load(files: [("1.json5", file)]).failure?.faults ?? []
        #expect(found.map(\.pointer.text) == [row.pointer])
        #expect(found.first?.message.contains(row.part) == true, "\(found)")
        #expect(found.first?.line == (row.type.isEmpty ? 1 : 2))
    }
}
