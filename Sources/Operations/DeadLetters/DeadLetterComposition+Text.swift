package import BellhopJSON
package import Store

extension DeadLetterComposition {
    /// The kinds with their counts, such as `invalid-field of drop transaction_complete (250), canteen voucher (3)`, or
    /// `nil` if there are no items.
    package var text: String? {
        guard let first = parts.first else { return nil }
        let isOneReason = otherParts == 0 && parts.allSatisfy { $0.reason == first.reason }
        var named = parts.map { part in
            let count = parts.count > 1 || otherParts > 0 ? " (\(part.items.grouped))" : ""
            return (isOneReason ? part.place : "\(part.reason) of \(part.place)") + count
        }
        if otherParts > 0 { named.append("\(otherParts.of("other kind")) (\(otherItems.grouped))") }
        return (isOneReason ? "\(first.reason) of " : "") + named.joined(separator: ", ")
    }

    /// The apps and types with their counts if there are several, such as `drop transaction_complete 250, canteen
    /// voucher 3`.
    package var places: String? {
        guard parts.count > 1 || otherParts > 0 else { return nil }
        let named = parts.map { "\($0.place) \($0.items.grouped)" }
        let others = otherParts > 0 ? ["\(otherParts.of("other")) \(otherItems.grouped)"] : []
        return (named + others).joined(separator: ", ")
    }

    /// The members of its JSON.
    package var members: [(String, JSONValue)] {
        let listed = parts.map { part in
            JSONValue.members([
                ("reason", .string(part.reason)), ("app", .optional(part.app)),
                ("eventType", .optional(part.eventType)), ("items", .int(part.items)),
            ])
        }
        return [("composition", .array(listed)), ("otherItems", .int(otherItems))]
    }
}

extension DeadLetterComposition.Part {
    /// The app and the type, if the message names them.
    fileprivate var place: String {
        guard let app else { return "no app" }
        return "\(app) \(eventType ?? "without a type")"
    }
}

extension DeadLetterCount {
    /// The text `12 items of 9 users`, which names the kinds of the items, too.
    func text(_ composition: DeadLetterComposition) -> String {
        Self.text(items, users: users, composition)
    }

    static func text(_ items: Int, users: Int? = nil, _ composition: DeadLetterComposition) -> String {
        let whose = users.map { $0 == 0 ? " of no user" : " of \($0.of("user"))" } ?? ""
        return items.of("item") + whose + (composition.text.map { ": \($0)" } ?? "")
    }
}
