import BellhopRules
import ServiceRuntime
import Settings
import Store

/// Workload W1: events of a payments app, each to one of many users.
///
/// The seed determines everything.
///
/// A tenth of the users has pushes switched off, a tenth has muted these types, and a fifth has set quiet hours. The
/// quiet hours are never in effect during the run, so that they only have to be read. Users have 1.2 devices on
/// average.
struct Workload: Sendable {
    let seed: UInt64
    var events: Int
    let users: Int
    /// The hour of the day in UTC.
    ///
    /// Quiet hours lie far from it, so that it does not change the result.
    let utcHour: Int
    /// Whether all users have muted these types, so that only rows are written.
    var isMuted = false
    /// Whether every user has an event before any user has two, instead of a random user each time.
    var isInTurn = false
    /// Whether their providers have accepted pushes to the devices before.
    var areDevicesReached = true

    static let appName = "drop"
    static let types = ["qr_payment", "transaction_complete"]
    /// Zones with their offset from UTC in winter, in hours.
    private static let zones = [
        ("Europe/Oslo", 1), ("UTC", 0), ("America/New_York", -5), ("Asia/Karachi", 5), ("Africa/Nairobi", 3),
    ]

    /// The result that a run must have.
    struct Expectation: Sendable, Equatable {
        var pushes = 0
        var endings: [BenchmarkBook.Ending: Int] = [:]
    }

    // MARK: - Users

    /// The user's properties that decide about a push, independent of their stored form.
    struct Traits: Sendable {
        let hasPushOff: Bool
        let hasMutedTypes: Bool
        let hasQuietHours: Bool
        let devices: Int
        let zone: String
        let hoursAhead: Int
    }

    func traits(of user: Int) -> Traits {
        var chance = WorkloadChance(seed: seed, stream: UInt64(user) << 1)
        let zone = Self.zones[chance.index(below: Self.zones.count)]
        return Traits(
            hasPushOff: chance.happens(percent: 10),
            hasMutedTypes: chance.happens(percent: 10) || isMuted,
            hasQuietHours: chance.happens(percent: 20),
            devices: chance.happens(percent: 20) ? 2 : 1,
            zone: zone.0,
            hoursAhead: zone.1
        )
    }

    func person(_ user: Int) -> BenchmarkPerson {
        let traits = traits(of: user)
        return BenchmarkPerson(
            user: Self.name(of: user),
            timezone: traits.zone,
            isPushEnabled: !traits.hasPushOff,
            preferences: preferences(traits),
            tokens: (0..<traits.devices).map { token(user, device: $0) }
        )
    }

    static func name(of user: Int) -> String { "user_\(padded(user, 7))" }

    private func preferences(_ traits: Traits) -> String {
        let toggles =
            Self.types.map { "\"\($0)\":\(!traits.hasMutedTypes)" } + ["\"security\":true", "\"rate_update\":false"]
        // From eight to ten hours after now on this user's clock.
        let start = (utcHour + traits.hoursAhead + 24 + 8) % 24
        let quiet = "\"enabled\":\(traits.hasQuietHours),\"startHour\":\(start),\"endHour\":\((start + 2) % 24)"
        return "{\"enabled\":true,\"eventToggles\":{\(toggles.joined(separator: ","))},\"quietHours\":{\(quiet)}}"
    }

    /// Returns a token as long as a real registration token: 142 characters.
    private func token(_ user: Int, device: Int) -> String {
        var chance = WorkloadChance(seed: seed, stream: 0xDE71_CE00_0000_0000 | UInt64(user * 2 + device))
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        func word(_ length: Int) -> String { String((0..<length).map { _ in letters[Int(chance.next() & 63)] }) }
        return "\(word(22)):APA91b\(word(113))"
    }

    // MARK: - Events

    func user(ofEvent event: Int) -> Int {
        if isInTurn { return event % users * Self.step % users }
        var chance = WorkloadChance(seed: seed, stream: UInt64(event) << 1 | 1)
        return chance.index(below: users)
    }

    /// A prime above any number of users, so that its multiples visit each user once, far from the one before.
    private static let step = 15_485_863

    func type(ofEvent event: Int) -> String { Self.types[event % Self.types.count] }

    func id(ofEvent event: Int) -> String { "evt_bench_\(Self.padded(event, 10))" }

    /// Returns the events to publish at an event's place.
    ///
    /// This is the event, and at every 200th place also a copy of an event from shortly before, as from a producer that
    /// repeats an event without a confirm.
    func publications(atEvent event: Int) -> [Int] {
        event % Self.repeatEvery == Self.repeatEvery - 1 ? [event, event - Self.repeatEvery / 2] : [event]
    }

    private static let repeatEvery = 200

    /// Returns the same workload with another number of events.
    func lasting(_ events: Int) -> Workload {
        var workload = self
        workload.events = events
        return workload
    }

    /// Returns an event of about 300 bytes, with texts from the catalogue's template.
    func body(ofEvent event: Int) -> String {
        body(ofEvent: event, to: "{\"user\":\"\(Self.name(of: user(ofEvent: event)))\"}")
    }

    /// Returns the same event for an audience, given as JSON.
    func body(ofEvent event: Int, to audience: String) -> String {
        var chance = WorkloadChance(seed: seed, stream: 0xE4E7_0000_0000_0000 | UInt64(event))
        let amount = 20 + chance.index(below: 4_000)
        let data =
            event % 2 == 0
            ? "\"merchant\":\"Kaffebrenneriet avd. \(chance.index(below: 90))\",\"amount\":\"\(amount) kr\",\"currency\":\"NOK\""
            : "\"recipient\":\"Amina K. \(chance.index(below: 90))\",\"amount\":\"\(amount) kr\",\"country\":\"Pakistan\""
        return
            "{\"id\":\"\(id(ofEvent: event))\",\"app\":\"\(Self.appName)\",\"eventType\":\"\(type(ofEvent: event))\","
            + "\"to\":\(audience),\"data\":{\(data)},"
            + "\"targetId\":\"tx_rem_\(Self.padded(event, 10))\",\"metadata\":{\"channel\":\"app\",\"terminal\":\"\(amount)\"},"
            + "\"sentAtIso\":\"2026-02-15T13:45:00.000Z\"}"
    }

    // MARK: - Expected result

    /// Returns the expected result, counted from the traits and not by the measured rules.
    func expectation() -> Expectation { expectation(for: (0..<events).lazy.map(user(ofEvent:))) }

    /// Returns the expected result of one event for each of these users.
    func expectation(for receivers: some Sequence<Int>) -> Expectation {
        var expected = Expectation()
        for user in receivers {
            let traits = traits(of: user)
            if traits.hasMutedTypes {
                expected.endings[.init(state: "suppressed", reason: "type-muted"), default: 0] += 1
            } else if traits.hasPushOff {
                expected.endings[.init(state: "suppressed", reason: "push-disabled"), default: 0] += 1
            } else {
                expected.endings[.init(state: "delivered"), default: 0] += traits.devices
                expected.pushes += traits.devices
            }
        }
        return expected
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}

extension Workload {
    /// Checks that the types are known and share the normal lane.
    ///
    /// Otherwise the run would measure something else.
    static func verify(_ catalogs: CatalogSet) throws(CommandFailure) {
        let known = catalogs.catalogs.first { $0.app.text == appName }?.types ?? []
        let isComplete = types.allSatisfy { name in
            known.contains { $0.type.text == name && $0.priority.lane == .normal }
        }
        guard !isComplete else { return }
        throw CommandFailure(
            .configuration,
            attempted: "looking for the benchmark's event types",
            cameBack:
                "the catalogues have no app \(appName) with \(types.joined(separator: " and ")) on the normal lane",
            whatToDo: "point \(Setting.catalogs.environmentName) at the catalogues that come with Bellhop"
        )
    }
}
