import BellhopRules
import Foundation
import Operations
import Pipeline
import ServiceRuntime
import Settings
import Store

/// Decides about pairs of an event and a user of workload W1, in memory, to measure the cost of the rules alone.
///
/// Preferences are parsed before the measurement, since a worker gets them with the look-up of a batch. The measured
/// time covers a worker's steps per pair: it finds the type in the app's catalogue, collects the facts, and decides.
struct DecisionRun {
    let workload: Workload
    /// Number of pairs.
    ///
    /// Users and types repeat.
    let pairs: Int

    func measure(_ catalogs: CatalogSet, _ zones: ZoneLibrary) throws -> BenchReport {
        guard let app = AppID(validating: Workload.appName), let catalog = catalogs[app] else {
            throw CommandFailure(
                .configuration,
                attempted: "looking for the benchmark's app",
                cameBack: "no catalogue describes \(Workload.appName)",
                whatToDo: "point \(Setting.catalogs.environmentName) at the catalogues that come with Bellhop"
            )
        }
        let types = Workload.types.compactMap(EventType.init(validating:))
        let provider = catalog.providers?.first ?? .fcm
        let people = (0..<workload.users).map { Self.recipient(workload.person($0), provider) }
        let load = ProcessTable.load()
        // The first use of a zone reads a file.
        for person in people { _ = person.timezone.flatMap { zones[$0] } }
        let now = SystemTime().timestamp
        var sends = 0
        let before = Self.processorTime()
        for pair in 0..<pairs {
            guard let catalog = catalogs[app], let type = catalog[types[pair % types.count]] else { continue }
            let recipient = people[pair % people.count]
            let facts = DecisionFacts(catalog: catalog, type: type, recipient: recipient, now: now) { zones[$0] }
            let decision = Decision(facts)
            for ruling in decision.devices where ruling.outcome == .send { sends += 1 }
        }
        let spent = Self.processorTime() - before
        return report(users: people.count, sends: sends, of: expectedSends(), seconds: spent, load: load)
    }

    /// Reports the cost of the rules, and whether the number of sends matches the workload's own count.
    func report(users: Int, sends: Int, of expected: Int, seconds: Double, load: Double?) -> BenchReport {
        let isRight = sends == expected
        let cost = seconds * 1e6 / Double(max(1, pairs))
        var report = BenchReport(
            workload: "decision",
            title: "decisions of workload W1, in memory",
            machine: MachineDescription(load: load),
            figures: [
                .both("pairs", "\(pairs), of \(users) users", "pairs", .int(pairs)), .told("users", .int(users)),
                .both(
                    "pushes decided",
                    "\(sends)" + (isRight ? ", as expected" : ", expected \(expected)"),
                    "pushes",
                    .int(sends)
                ),
                .told("pushesExpected", .int(expected)),
                .both(
                    "processor time a pair",
                    cost.text(digits: 2) + " µs",
                    "microsecondsPerPair",
                    .decimal(cost, digits: 3)
                ),
                .told("processorSeconds", .decimal(seconds, digits: 3)),
            ]
        )
        report.isRight = isRight
        return report
    }

    /// Returns the number of sends, counted from the traits and not by the measured rules.
    private func expectedSends() -> Int {
        let sends = (0..<workload.users).map { user in
            let traits = workload.traits(of: user)
            return traits.hasMutedTypes || traits.hasPushOff ? 0 : traits.devices
        }
        let (rounds, rest) = pairs.quotientAndRemainder(dividingBy: sends.count)
        return sends.reduce(0, +) * rounds + sends.prefix(rest).reduce(0, +)
    }

    /// Makes a recipient with devices of the app's provider, so that every rule is evaluated.
    private static func recipient(_ person: BenchmarkPerson, _ provider: PushProvider) -> Recipient {
        var recipient = Recipient()
        recipient.locale = LanguageTag(validating: "nb")
        recipient.timezone = TimeZoneName(validating: person.timezone)
        recipient.pushEnabled = person.isPushEnabled
        if case .success(.object(let document)) = JSONParser().parse(Array(person.preferences.utf8)) {
            recipient.preferences = Preferences(document)
        }
        recipient.devices = person.tokens.compactMap { token in
            DeviceToken(validating: token).map {
                Device(
                    subscription: String(token.prefix(20)),
                    token: $0,
                    platform: .android,
                    provider: provider,
                    permission: .granted
                )
            }
        }
        return recipient
    }

    /// Returns the processor time of all threads of this process, in seconds.
    private static func processorTime() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
