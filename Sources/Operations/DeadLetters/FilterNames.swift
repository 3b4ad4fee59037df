package import BellhopJSON
package import Store

/// The names of groups and actions to which filters refer only by a fingerprint or a number.
package struct FilterNames: Sendable {
    private let groups: [String: DeadLetterGroupName]
    private let acts: [Int64: AuditEntry]

    /// Finds the names for filters, as replays and audit entries store them.
    package init(of filters: [JSONObject], in store: DeadLetterAdmin) async throws {
        let numbers = Set(filters.compactMap(Self.act))
        acts = try await store.auditEntries(Array(numbers))
        let all = filters + acts.values.map(\.filter)
        groups = try await store.groupNames(Array(Set(all.compactMap { $0["fingerprint"]?.string })))
    }

    /// Returns the name of the group that a filter selects, such as `attempts-exhausted of drop, fcm`; `nil` if it
    /// selects no group, or one without items.
    package func group(of filter: JSONObject) -> String? {
        filter["fingerprint"]?.string.flatMap { groups[$0]?.text }
    }

    /// Returns the action that a filter reverts or completes, such as `discard of reason malformed-json`; `nil` if it has none.
    package func reverted(by filter: JSONObject) -> String? {
        guard let entry = Self.act(filter).flatMap({ acts[$0] }) else { return nil }
        return "\(entry.act) of \(words(of: entry.filter))"
    }

    /// Returns a filter as `app drop, reason malformed-json`.
    ///
    /// The filter of an act that follows another one has that act's number: an undo reverts it, and the end of a
    /// discard states its result.
    package func words(of filter: JSONObject, none: String = "all open items", isResult: Bool = false) -> String {
        if let act = Self.act(filter) {
            return (isResult ? "result of act \(act)" : "undoes act \(act)")
                + (reverted(by: filter).map { ": \($0)" } ?? "")
        }
        let words = filter.members.filter { $0.key != "itemCount" }.map { member in
            switch member.key {
            case "items": return "items \(Self.items(of: filter))"
            case "fingerprint":
                let name = member.value.string ?? ""
                return "group \(name)" + (group(of: filter).map { " (\($0))" } ?? "")
            default:
                let list = member.value.array.map { $0.compactMap(\.string).joined(separator: ", ") }
                let value =
                    member.value.string ?? list
                    ?? String(decoding: JSONWriter.canonicalBytes(of: member.value), as: UTF8.self)
                return "\(member.key) \(value)"
            }
        }
        return words.isEmpty ? none : words.joined(separator: ", ")
    }

    /// Returns the first named item, and the number of further named items.
    private static func items(of filter: JSONObject) -> String {
        let named = filter["items"]?.array?.compactMap(\.string) ?? []
        let count = filter["itemCount"]?.number?.int64.map { Int(clamping: $0) } ?? named.count
        return (named.first ?? "-") + (count > 1 ? " and \((count - 1).grouped) more" : "")
    }

    private static func act(_ filter: JSONObject) -> Int64? { filter["act"]?.number?.int64 }
}

extension DeadLetterGroupName {
    fileprivate var text: String {
        let places = [app ?? "no app", provider].compactMap { $0 }
        return "\(reason) of \(places.joined(separator: ", "))"
    }
}

extension AuditEntry {
    /// Whether it states the result of an earlier act.
    fileprivate var isResult: Bool { act == "hold-discarded" || act == "retries-brought-forward" }

    /// The number of the act that this one has undone, if it is an undo.
    fileprivate var undoneAct: Int64? { reverse == nil ? nil : filter["act"]?.number?.int64 }

    /// The things to which a reason can be given afterwards, such as `fanout 7`.
    fileprivate var subjects: [String] {
        let named = ["fanout", "hold"].compactMap { name in
            filter[name]?.number?.int64.map { "\(name) \($0)" }
        }
        return named + (replay.map { ["replay \($0)"] } ?? [])
    }
}

/// The operators' acts, the most recent first.
package struct AuditLog: Sendable {
    package let entries: [AuditEntry]
    private let names: FilterNames
    /// The acts that were undone, with the latest act that did it.
    ///
    /// An undo has a higher number than its act, so that a list of the latest acts contains it.
    private let undoings: [Int64: Int64]
    /// The latest act that has given a reason afterwards, for each fan-out, hold and replay.
    private let explanations: [String: Int64]

    /// Creates the log of some entries; `others` are acts outside of a filtered list that may refer to one of them.
    init(_ entries: [AuditEntry], referredToBy others: [AuditEntry] = [], in store: DeadLetterAdmin) async throws {
        self.entries = entries
        names = try await FilterNames(of: entries.map(\.filter), in: store)
        let all = entries + others
        let undoings = all.compactMap { entry in entry.undoneAct.map { ($0, entry.number) } }
        self.undoings = Dictionary(undoings, uniquingKeysWith: max)
        let notes = all.filter { $0.act.hasSuffix("-note") }.flatMap { note in note.subjects.map { ($0, note.number) } }
        explanations = Dictionary(notes, uniquingKeysWith: max)
    }

    /// Whether the act was performed without a reason, and has got none since.
    private func lacksReason(_ entry: AuditEntry) -> Bool {
        entry.because == ActingOperator.noReasonYet
            && !entry.subjects.contains { explanations[$0].map { $0 > entry.number } ?? false }
    }

    /// Returns the selection of an entry in words.
    package func selection(of entry: AuditEntry) -> String {
        // The file determines which items are imported.
        names.words(
            of: entry.filter,
            none: entry.act == "import" ? "-" : "all open items",
            isResult: entry.isResult
        )
    }

    /// The answer of `audit`.
    package var json: JSONValue {
        .members([
            (
                "acts",
                .array(
                    entries.map { entry in
                        .members(
                            entry.members + [
                                ("group", .optional(names.group(of: entry.filter))),
                                ("undoes", .optional(entry.isResult ? nil : names.reverted(by: entry.filter))),
                                ("isResult", .bool(entry.isResult)),
                                ("resultOf", .optional(entry.isResult ? names.reverted(by: entry.filter) : nil)),
                                ("undoneBy", undoings[entry.number].map { .int($0) } ?? .null),
                                ("canUndo", .bool(entry.reverse != nil && undoings[entry.number] == nil)),
                                ("lacksReason", .bool(lacksReason(entry))),
                            ]
                        )
                    }
                )
            )
        ])
    }
}
