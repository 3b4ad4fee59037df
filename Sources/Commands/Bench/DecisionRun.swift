import BellhopRules
import Foundation
import Pipeline
import ServiceRuntime
import Store

/// Decides about pairs of an event and a user of workload W1, with everything in memory: what the rules alone cost.
///
/// Preferences are read from their documents beforehand, as they come with the look-up of a batch. What is counted per
/// pair is what a worker does: it finds the type in the app's catalogue, puts the facts together, and decides.
struct DecisionRun {
    let workload: Workload
    /// How many pairs; users and types come round again.
    let pairs: Int

    func measure(_ catalogs: CatalogSet, _ zones: ZoneLibrary) throws -> DecisionReport {
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
        // The first look at a zone reads a file.
        for person in people { _ = person.timezone.flatMap { zones[$0] } }
        let now = Timestamp(clamping: SystemTime().now().microseconds)
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
        return DecisionReport(
            pairs: pairs,
            users: people.count,
            sends: sends,
            expectedSends: expectedSends(),
            processorSeconds: spent,
            load: load
        )
    }

    /// Counted from the traits alone, not by the rules that are measured.
    private func expectedSends() -> Int {
        let sends = (0..<workload.users).map { user in
            let traits = workload.traits(of: user)
            return traits.hasMutedTypes || traits.hasPushOff ? 0 : traits.devices
        }
        let (rounds, rest) = pairs.quotientAndRemainder(dividingBy: sends.count)
        return sends.reduce(0, +) * rounds + sends.prefix(rest).reduce(0, +)
    }

    /// With devices of the provider that the app uses, so that every rule is asked.
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

    /// Of all threads of this process, in seconds.
    private static func processorTime() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

/// What the rules cost.
struct DecisionReport {
    let pairs: Int
    let users: Int
    let sends: Int
    let expectedSends: Int
    let processorSeconds: Double
    /// The load average before the run.
    let load: Double?

    var microsecondsPerPair: Double { processorSeconds * 1e6 / Double(max(1, pairs)) }

    /// Whether the rules let through what the workload's own count says.
    var isRight: Bool { sends == expectedSends }

    var text: String {
        [
            "decisions of workload W1, in memory", machine, "",
            "pairs".padding(to: 22) + "\(pairs), of \(users) users",
            "pushes decided".padding(to: 22) + "\(sends)" + (isRight ? ", as expected" : ", expected \(expectedSends)"),
            "processor time a pair".padding(to: 22) + microsecondsPerPair.text(digits: 2) + " µs",
        ].joined(separator: "\n")
    }

    var json: JSONText {
        .object([
            ("workload", .text("decision")), ("pairs", .number(pairs)), ("users", .number(users)),
            ("pushes", .number(sends)), ("pushesExpected", .number(expectedSends)),
            ("microsecondsPerPair", .decimal(microsecondsPerPair, digits: 3)),
            ("processorSeconds", .decimal(processorSeconds, digits: 3)),
            (
                "machine",
                .object([
                    ("cores", .number(MachineDescription.coreCount)),
                    ("loadBefore", load.map { .decimal($0, digits: 2) } ?? .null),
                    ("optimised", .flag(MachineDescription.isBuiltOptimised)),
                ])
            ),
        ])
    }

    private var machine: String {
        let load = "load \(load.map { $0.text(digits: 1) } ?? "unknown") before"
        let build = MachineDescription.isBuiltOptimised ? [] : [MachineDescription.debugWarning]
        return (["\(MachineDescription.coreCount) cores", load] + build).joined(separator: ", ")
    }
}
