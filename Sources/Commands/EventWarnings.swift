import BellhopRules
import ServiceRuntime

/// The slips in the valid messages of a file: parts without effect, instants that have passed, and repeated ids.
struct EventWarnings: Sendable {
    private let all: [[String]]

    /// Judges messages as if they were published at `now`, in the order of the file.
    init(_ entries: [EventFile.Entry], _ catalogs: CatalogSet, at now: Timestamp) {
        var earlier: [String: (line: Int, event: Event)] = [:]
        all = entries.map { entry in
            switch entry.judgement {
            case .success(.feed(let update)): return Self.togglesWithoutEffect(entry, update, catalogs)
            case .success(.event(let event)):
                let key = "\(event.app) \(event.id)"
                defer { earlier[key] = earlier[key] ?? (entry.line, event) }
                let repeated = earlier[key].map { [Self.repetition(of: event, $0.event, on: $0.line)] } ?? []
                return Self.membersWithoutEffect(entry, event) + Self.passed(event, at: now) + repeated
            default: return []
            }
        }
    }

    /// The number of messages with a warning.
    var count: Int { all.count { !$0.isEmpty } }

    /// The warnings of the message at this place.
    subscript(_ place: Int) -> [String] { all[place] }

    /// The toggles of types that the catalogue does not have.
    private static func togglesWithoutEffect(
        _ entry: EventFile.Entry,
        _ update: FeedUpdate,
        _ catalogs: CatalogSet
    ) -> [String] {
        guard update.change.type == .recipientUpserted, let types = catalogs[update.app]?.types.map(\.type.text),
            let document = try? JSONParser(limits: .event).parse(entry.body).get(),
            let toggles = document["preferences"]?["eventToggles"]?.object
        else { return [] }
        return toggles.members.map(\.key).filter { !types.contains($0) }.map { name in
            let shown = HumanText.cut(name, to: 60)
            let meant = NearestName.hint(name, among: types)
            return "\(update.app) has no type \(shown), so this toggle in eventToggles has no effect\(meant)"
        }
    }

    /// The members of an event that Bellhop does not read.
    ///
    /// A mapping reads messages of any form.
    private static func membersWithoutEffect(_ entry: EventFile.Entry, _ event: Event) -> [String] {
        guard event.mapping == nil, let document = try? JSONParser(limits: .event).parse(entry.body).get(),
            let members = document.object?.members
        else { return [] }
        let known = EventField.allCases.map(\.rawValue)
        return members.map(\.key).filter { !known.contains($0) }.map { name in
            "an event has no member \(HumanText.cut(name, to: 60)), so it has no effect\(NearestName.hint(name, among: known))"
        }
    }

    private static func passed(_ event: Event, at now: Timestamp) -> [String] {
        var warnings: [String] = []
        if let deliverAt = event.deliverAt, deliverAt <= now {
            warnings.append("deliverAt has passed, so the event is delivered immediately")
        }
        if let expiresAt = event.expiresAt, expiresAt <= now {
            warnings.append("expiresAt has passed, so nothing is pushed")
        } else if let expiresAt = event.expiresAt, let deliverAt = event.deliverAt, expiresAt <= deliverAt {
            warnings.append("expiresAt is not after deliverAt, so nothing is pushed")
        }
        return warnings
    }

    private static func repetition(of event: Event, _ earlier: Event, on line: Int) -> String {
        let beginning = "the id \(event.id) is also on line \(line)"
        guard event.content != earlier.content || event.type != earlier.type else {
            return "\(beginning), so a user of both is notified once"
        }
        return "\(beginning) with other content: for a user of both, the later one becomes a dead letter (id-conflict)"
    }
}
