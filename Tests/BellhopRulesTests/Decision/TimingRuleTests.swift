import BellhopRules
import Testing

@Suite("Rules of time")
struct TimingRuleTests {
    private func decide(
        _ type: String = "order",
        at now: String = DecisionSample.night,
        _ change: (inout DecisionFacts) throws -> Void = { _ in }
    ) throws -> Decision {
        Decision(
            try DecisionSample.facts(type, at: now) { facts in
                facts.recipient.preferences = DecisionSample.quietNights
                try change(&facts)
            }
        )
    }

    private func quiet(until text: String) throws -> Outcome { .wait(Wait(.quietHours, until: try at(text))) }
    private func digest(_ text: String) throws -> Outcome { .wait(Wait(.digest, until: try at(text))) }

    /// The shop with a cap of three pushes with low priority per hour.
    private static func calmShop() throws -> Catalog {
        try DecisionSample.catalog(
            replacing: #"timezone: "Europe/Oslo","#,
            with: #"timezone: "Europe/Oslo", cap: { perHour: 3 },"#
        )
    }

    private static func burstingShop() throws -> Catalog {
        try DecisionSample.catalog(
            replacing: #"label: { en: "Usual" }"#,
            with: #"label: { en: "Usual" }, burst: { window: "60s" }"#
        )
    }

    @Test(
        "events in a burst after the first wait for its end, together with events that already wait",
        arguments: [
            (nil, nil), ("11:59:00", nil), ("11:59:00.000001", "12:00:00.000001"), ("11:59:30", "12:00:30"),
            ("12:00:00", "12:01:00"), ("12:00:30", "12:00:30"),
        ] as [(String?, String?)]
    )
    func burst(latest: String?, until: String?) throws {
        let day = "2026-03-10T"
        let facts = try DecisionSample.facts("usual", in: try Self.burstingShop()) { facts in
            facts.history.recent.latest = try latest.map { try at("\(day)\($0)Z") }
        }
        let expected = try until.map { Outcome.wait(Wait(.burst, until: try at("\(day)\($0)Z"))) }
        #expect(Decision(facts).outcome(.ios) == expected ?? .send)
        let other = try DecisionSample.facts("order") { $0.history.recent = facts.history.recent }
        #expect(Decision(other).outcome(.ios) == .send)
    }

    @Test("quiet hours precede a burst, expiry takes precedence over both, and each has its finding")
    func burstAmongOthers() throws {
        let shop = try Self.burstingShop()
        let quiet = try quiet(until: DecisionSample.morning)
        let night = try DecisionSample.facts("usual", at: DecisionSample.night, in: shop) { facts in
            facts.recipient.preferences = DecisionSample.quietNights
            facts.history.recent.latest = facts.now
        }
        #expect(Decision(night).outcome(.ios) == quiet)
        let late = try DecisionSample.facts("usual", in: shop) { facts in
            facts.history.recent.latest = facts.now
            facts.expiresAt = try at("2026-03-10T12:00:30Z")
        }
        let (decision, steps) = Decision.explained(late)
        #expect(decision.outcome(.ios) == .expire)
        #expect(steps.suffix(2).map(\.rule) == [.quietHours, .burst])
    }

    @Test(
        "events beyond the cap of low priority wait for the digest, and other priorities have no cap",
        arguments: 2...4
    )
    func cap(count: Int) throws {
        let shop = try Self.calmShop()
        let next = try digest("2026-03-10T16:00:00Z")
        for (type, isLow) in [("chatter", true), ("usual", false)] {
            let facts = try DecisionSample.facts(type, in: shop) { $0.history.recent.lowPriority = count }
            #expect(Decision(facts).outcome(.ios) == (isLow && count >= 3 ? next : .send), "\(type)")
        }
        let uncapped = try DecisionSample.facts("chatter") { $0.history.recent.lowPriority = count }
        #expect(Decision(uncapped).outcome(.ios) == .send)
    }

    @Test("in quiet hours each platform has its policy: defer, drop or bypass")
    func policies() throws {
        let decision = try decide()
        let expected = try quiet(until: DecisionSample.morning)
        #expect(decision.outcome(.ios) == expected)
        #expect(decision.outcome(.android) == .drop)
        #expect(decision.outcome(.web) == .send)
        #expect(decision.isRecorded)
    }

    @Test("without a policy, a high priority is sent and any other waits")
    func usualPolicies() throws {
        for platform in DevicePlatform.allCases {
            #expect(try decide("alarm").outcome(platform) == .send)
            #expect(try decide("usual").outcome(platform) == (try quiet(until: DecisionSample.morning)))
        }
    }

    @Test(
        "the window begins with its first hour and ends with its last second",
        arguments: [
            ("2026-03-10T20:59:59.999999Z", false), ("2026-03-10T21:00:00Z", true),
            ("2026-03-11T05:59:59.999999Z", true), ("2026-03-11T06:00:00Z", false),
        ]
    )
    func edges(now: String, isQuiet: Bool) throws {
        #expect(
            try decide("usual", at: now).outcome(.ios) == (isQuiet ? try quiet(until: DecisionSample.morning) : .send)
        )
    }

    @Test("a user without quiet hours has the app's, which are off unless the catalogue enables them")
    func usualHours() throws {
        #expect(Decision(try DecisionSample.facts(at: DecisionSample.night)).outcome(.ios) == .send)
        let catalog = try DecisionSample.catalog(
            replacing: #"language: "en","#,
            with: #"language: "en", preferences: { quietHours: { enabled: true, startHour: 23, endHour: 6 } },"#
        )
        let app = Decision(try DecisionSample.facts(at: DecisionSample.night, in: catalog)).outcome(.ios)
        let untilFive = try quiet(until: "2026-03-11T05:00:00Z")
        #expect(app == untilFive)
        let own = Decision(
            try DecisionSample.facts(at: DecisionSample.night, in: catalog) {
                $0.recipient.preferences = DecisionSample.quietNights
            }
        )
        let untilMorning = try quiet(until: DecisionSample.morning)
        #expect(own.outcome(.ios) == untilMorning)
    }

    @Test("expiry takes precedence over a wait: a push that would expire before the end of quiet hours expires now")
    func expiry() throws {
        for (expiresAt, outcome) in [
            (DecisionSample.morning, Outcome.expire),
            ("2026-03-11T06:00:00.000001Z", try quiet(until: DecisionSample.morning)),
        ] {
            let decision = try decide { $0.expiresAt = try at(expiresAt) }
            #expect(decision.outcome(.ios) == outcome, "\(expiresAt)")
            #expect(decision.outcome(.web) == .send, "what does not wait is not too late")
        }
    }

    @Test(
        "the user's own time zone applies, and the app's if it is missing or unknown",
        arguments: [
            ("America/New_York", "2026-03-11T03:00:00Z", "2026-03-11T11:00:00Z"),
            (nil, DecisionSample.night, DecisionSample.morning),
            ("Mars/Olympus_Mons", DecisionSample.night, DecisionSample.morning),
        ] as [(String?, String, String)]
    )
    func clocks(zone: String?, now: String, until: String) throws {
        let decision = try decide(at: now) { $0.recipient.timezone = zone.flatMap(TimeZoneName.init(validating:)) }
        let expected = try quiet(until: until)
        #expect(decision.outcome(.ios) == expected)
    }

    @Test("without any known time zone there are no quiet hours and no digest")
    func noClock() throws {
        #expect(try decide { $0.zone = { _ in nil } }.outcome(.ios) == .send)
        #expect(try decide("news") { $0.zone = { _ in nil } }.outcome(.ios) == .send)
    }

    @Test(
        "a gathered event waits for the next digest, or for the one after it in the last 30 seconds",
        arguments: [
            (DecisionSample.noon, "2026-03-10T16:00:00Z"), ("2026-03-10T15:59:29.999999Z", "2026-03-10T16:00:00Z"),
            ("2026-03-10T15:59:30Z", "2026-03-11T07:00:00Z"), (DecisionSample.night, "2026-03-11T07:00:00Z"),
        ]
    )
    func gathering(now: String, slot: String) throws {
        let decision = try decide("news", at: now)
        let gathered = try digest(slot)
        for platform in DevicePlatform.allCases { #expect(decision.outcome(platform) == gathered) }
        #expect(decision.email == .send)
    }

    @Test("a type that is not gathered, and an app without a digest, are sent immediately")
    func noDigest() throws {
        #expect(try decide("chatter", at: DecisionSample.noon).outcome(.ios) == .send)
        let catalog = try DecisionSample.catalog(
            replacing: #"digest: { at: ["08:00", "17:00"], templates: { en: { title: "{count} new" } } },"#,
            with: ""
        )
        #expect(Decision(try DecisionSample.facts("news", in: catalog)).outcome(.ios) == .send)
    }

    @Test("an event in a due digest is not gathered again: it is sent, or waits for the end of quiet hours")
    func dueDigest() throws {
        let noon = try at(DecisionSample.noon)
        #expect(try decide("news", at: DecisionSample.noon) { $0.history.digest = noon }.outcome(.ios) == .send)
        let quiet = try quiet(until: DecisionSample.morning)
        #expect(try decide("news") { $0.history.digest = noon }.outcome(.ios) == quiet)
    }

    @Test(
        "a digest may be released up to 30 seconds early, and is not deferred to the next one",
        arguments: [("2026-03-10T15:59:29.999999Z", false), ("2026-03-10T15:59:30Z", true)]
    )
    func aheadOfUs(now: String, goesOut: Bool) throws {
        let slot = "2026-03-10T16:00:00Z"
        let gathered = try at(slot)
        let decision = try decide("news", at: now) { $0.history.digest = gathered }
        let waits = try digest(slot)
        #expect(decision.outcome(.ios) == (goesOut ? .send : waits))
    }

    @Test("expiry takes precedence over a digest: an event that would expire before it is not gathered")
    func expiryInDigest() throws {
        for (expiresAt, outcome) in [
            ("2026-03-10T16:00:00Z", Outcome.expire),
            ("2026-03-10T16:00:00.000001Z", try digest("2026-03-10T16:00:00Z")),
        ] {
            let gathered = try decide("news", at: DecisionSample.noon) { $0.expiresAt = try at(expiresAt) }
            #expect(gathered.outcome(.ios) == outcome, "\(expiresAt)")
            #expect(gathered.email == .send)
        }
    }

    /// Returns the decision for a user whose pause ends at 13:00 UTC.
    private func paused(
        _ type: String = "order",
        at now: String = DecisionSample.noon,
        quiet: ClosedRange<Int>? = nil,
        _ change: (inout DecisionFacts) throws -> Void = { _ in }
    ) throws -> (decision: Decision, steps: [RuleStep]) {
        Decision.explained(
            try DecisionSample.facts(type, at: now) { facts in
                facts.recipient.preferences = DecisionSample.preferences(
                    quiet: quiet,
                    pausedUntil: "2026-03-10T13:00:00Z"
                )
                try change(&facts)
            }
        )
    }

    private func paused(until text: String = "2026-03-10T13:00:00Z") throws -> Outcome {
        .wait(Wait(.paused, until: try at(text)))
    }

    @Test("in a pause each platform has the type's policy for quiet hours, and a mail is sent")
    func pausePolicies() throws {
        let (decision, steps) = try paused()
        let wait = try paused(until: "2026-03-10T13:00:00Z")
        #expect(decision.outcome(.ios) == wait)
        #expect(decision.outcome(.android) == .suppress(.paused))
        #expect(decision.outcome(.web) == .send)
        #expect(decision.isRecorded)
        #expect(steps.filter { $0.rule == .pause }.map(\.outcome) == [wait, .suppress(.paused), nil])
        for platform in DevicePlatform.allCases {
            #expect(try paused("alarm").decision.outcome(platform) == .send)
            #expect(try paused("terms").decision.outcome(platform) == wait)
        }
        #expect(try paused("terms").decision.email == .send)
    }

    @Test(
        "a pause ends with its instant, and quiet hours apply from then on",
        arguments: [("2026-03-10T12:59:59.999999Z", true), ("2026-03-10T13:00:00Z", false)]
    )
    func pauseEnd(now: String, isPaused: Bool) throws {
        let wait = try paused(until: "2026-03-10T13:00:00Z")
        #expect(try paused("usual", at: now).decision.outcome(.ios) == (isPaused ? wait : .send))
        // From 14 o'clock in Oslo, which is 13 UTC.
        let quiet = try quiet(until: "2026-03-11T05:00:00Z")
        #expect(try paused("usual", at: now, quiet: 6...14).decision.outcome(.ios) == (isPaused ? wait : quiet))
    }

    @Test("expiry takes precedence over a pause, and a digest over both until it is due")
    func pauseAmongOthers() throws {
        let late = try paused("usual") { $0.expiresAt = try at("2026-03-10T13:00:00Z") }
        #expect(late.decision.outcome(.ios) == .expire)
        #expect(late.steps.last?.rule == .pause)
        #expect(try paused("news").decision.outcome(.ios) == digest("2026-03-10T16:00:00Z"))
        let due = try paused("news") { $0.history.digest = $0.now }
        #expect(try due.decision.outcome(.ios) == paused(until: "2026-03-10T13:00:00Z"))
    }

    @Test("a pause that is over, or not an instant, changes nothing, and no rule reports it")
    func noPause() throws {
        for end in ["2026-03-10T12:00:00Z", "2020-01-01T00:00:00Z", "soon", "2026-13-10T13:00:00Z"] {
            let facts = try DecisionSample.facts("usual") {
                $0.recipient.preferences = DecisionSample.preferences(pausedUntil: end)
            }
            let (decision, steps) = Decision.explained(facts)
            #expect(decision.outcome(.ios) == .send, "\(end)")
            let hasStep = steps.contains { $0.rule == .pause }
            #expect(!hasStep, "\(end)")
        }
    }
}
