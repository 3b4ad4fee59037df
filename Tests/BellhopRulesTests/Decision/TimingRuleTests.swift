import BellhopRules
import Testing

@Suite("The rules of time")
struct TimingRuleTests {
    private func decide(
        _ type: String = "order",
        at now: String = Shop.night,
        _ change: (inout DecisionFacts) throws -> Void = { _ in }
    ) throws -> Decision {
        Decision(
            try Shop.facts(type, at: now) { facts in
                facts.recipient.preferences = Shop.quietNights
                try change(&facts)
            }
        )
    }

    private func quiet(until text: String) throws -> Outcome { .wait(Wait(.quietHours, until: try at(text))) }
    private func digest(_ text: String) throws -> Outcome { .wait(Wait(.digest, until: try at(text))) }

    @Test("in quiet hours each kind of device has its policy: to wait, to be dropped, to go out")
    func policies() throws {
        let decision = try decide()
        let expected = try quiet(until: Shop.morning)
        #expect(decision.outcome(.ios) == expected)
        #expect(decision.outcome(.android) == .drop)
        #expect(decision.outcome(.web) == .send)
        #expect(decision.isRecorded)
    }

    @Test("without a policy, high priority goes out and all else waits")
    func usualPolicies() throws {
        for platform in DevicePlatform.allCases {
            #expect(try decide("alarm").outcome(platform) == .send)
            #expect(try decide("usual").outcome(platform) == (try quiet(until: Shop.morning)))
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
        #expect(try decide("usual", at: now).outcome(.ios) == (isQuiet ? try quiet(until: Shop.morning) : .send))
    }

    @Test("who has said nothing of quiet hours has the app's, which are off unless the catalogue turns them on")
    func usualHours() throws {
        #expect(Decision(try Shop.facts(at: Shop.night)).outcome(.ios) == .send)
        let catalog = try Shop.catalog(
            replacing: #"language: "en","#,
            with: #"language: "en", preferences: { quietHours: { enabled: true, startHour: 23, endHour: 6 } },"#
        )
        let app = Decision(try Shop.facts(at: Shop.night, in: catalog)).outcome(.ios)
        let untilFive = try quiet(until: "2026-03-11T05:00:00Z")
        #expect(app == untilFive)
        let own = Decision(
            try Shop.facts(at: Shop.night, in: catalog) { $0.recipient.preferences = Shop.quietNights }
        )
        let untilMorning = try quiet(until: Shop.morning)
        #expect(own.outcome(.ios) == untilMorning)
    }

    @Test("expiry beats waiting: what would be too late by the end of the quiet is too late now")
    func expiry() throws {
        for (expiresAt, outcome) in [
            (Shop.morning, Outcome.expire), ("2026-03-11T06:00:00.000001Z", try quiet(until: Shop.morning)),
        ] {
            let decision = try decide { $0.expiresAt = try at(expiresAt) }
            #expect(decision.outcome(.ios) == outcome, "\(expiresAt)")
            #expect(decision.outcome(.web) == .send, "what does not wait is not too late")
        }
    }

    @Test(
        "the user's own clock counts; without a zone, or with one that nobody knows, the app's",
        arguments: [
            ("America/New_York", "2026-03-11T03:00:00Z", "2026-03-11T11:00:00Z"),
            (nil, Shop.night, Shop.morning), ("Mars/Olympus_Mons", Shop.night, Shop.morning),
        ] as [(String?, String, String)]
    )
    func clocks(zone: String?, now: String, until: String) throws {
        let decision = try decide(at: now) { $0.recipient.timezone = zone.flatMap(TimeZoneName.init(validating:)) }
        let expected = try quiet(until: until)
        #expect(decision.outcome(.ios) == expected)
    }

    @Test("where nobody knows any clock it is never quiet, and nothing is gathered")
    func noClock() throws {
        #expect(try decide { $0.zone = { _ in nil } }.outcome(.ios) == .send)
        #expect(try decide("news") { $0.zone = { _ in nil } }.outcome(.ios) == .send)
    }

    @Test(
        "what is gathered waits for the next digest, and for the one after it within the last 30 seconds",
        arguments: [
            (Shop.noon, "2026-03-10T16:00:00Z"), ("2026-03-10T15:59:29.999999Z", "2026-03-10T16:00:00Z"),
            ("2026-03-10T15:59:30Z", "2026-03-11T07:00:00Z"), (Shop.night, "2026-03-11T07:00:00Z"),
        ]
    )
    func gathering(now: String, slot: String) throws {
        let decision = try decide("news", at: now)
        let gathered = try digest(slot)
        for platform in DevicePlatform.allCases { #expect(decision.outcome(platform) == gathered) }
        #expect(decision.email == .send)
    }

    @Test("a type that is not to be gathered, and an app without a digest, go out at once")
    func noDigest() throws {
        #expect(try decide("chatter", at: Shop.noon).outcome(.ios) == .send)
        let catalog = try Shop.catalog(
            replacing: #"digest: { at: ["08:00", "17:00"], templates: { en: { title: "{count} new" } } },"#,
            with: ""
        )
        #expect(Decision(try Shop.facts("news", in: catalog)).outcome(.ios) == .send)
    }

    @Test("in a digest that is due it is not gathered again: it goes out, or waits for the quiet to end")
    func dueDigest() throws {
        #expect(try decide("news", at: Shop.noon) { $0.history.isInDueDigest = true }.outcome(.ios) == .send)
        let quiet = try quiet(until: Shop.morning)
        #expect(try decide("news") { $0.history.isInDueDigest = true }.outcome(.ios) == quiet)
    }

    @Test("expiry beats a digest, too: what would be too late by then is not gathered")
    func expiryInDigest() throws {
        for (expiresAt, outcome) in [
            ("2026-03-10T16:00:00Z", Outcome.expire),
            ("2026-03-10T16:00:00.000001Z", try digest("2026-03-10T16:00:00Z")),
        ] {
            let gathered = try decide("news", at: Shop.noon) { $0.expiresAt = try at(expiresAt) }
            #expect(gathered.outcome(.ios) == outcome, "\(expiresAt)")
            #expect(gathered.email == .send)
        }
    }
}
