import BellhopRules
import CLI
import Foundation
import Operations
import ServiceRuntime
import Settings
import Store

extension DeadLetterAnswer {
    private var item: DeadLetterSummary { detail.summary }

    /// The item in the form that `show` prints.
    var lines: [String] {
        var text = WrappedText()
        text.add("", item.deadID)
        for (label, words) in facts { text.add(label, width: Self.label, words) }
        // A settled item needs no action.
        if [.open, .replaying].contains(item.state) {
            text.add("what to do", width: Self.label, DeadLetterAdvice.words(for: item.cause, in: item.state))
            text.add("runbook", width: Self.label, DeadLetterAdvice.runbook(for: item.cause))
        }
        var lines = text.lines
        if let event { lines += [""] + eventLines(event) }
        if item.delivery == nil { lines += [""] + messageLines }
        if !conflict.isEmpty { lines += [""] + conflictLines }
        return lines + [""] + historyLines
    }

    private static let label = 11

    private var facts: [(String, String)] {
        var state = detail.isFiled ? item.state.rawValue : "in the broker's queue, not filed yet"
        if let replay = item.replay { state += ", in replay \(replay)" }
        if let resolution = item.resolution { state += ": \(resolution)" }
        let place = [item.cause.stage.rawValue, item.cause.provider].compactMap { $0 }.joined(separator: ", ")
        let died = "died \(item.failures.of("time")), replayed \(item.replays.of("time"))"
        let named = [item.cause.eventID, item.cause.eventType].compactMap { $0 }.joined(separator: ", ")
        let event = (named.isEmpty ? "it names none" : named) + (item.cause.app.map { " of \($0)" } ?? ", and no app")
        var facts = [("state", "\(state); \(died)")]
        if item.isUnfailedCopy {
            facts.append(("reason", "none, this is \(item.cause.error), which had the reason \(item.cause.reason)"))
        } else {
            facts += [("reason", "\(item.cause.reason) (\(place))"), ("error", item.cause.errorWithPlace)]
        }
        facts += [("group", item.fingerprint), ("event", event), ("user", item.cause.user ?? "-")]
        facts += [("failed", failures)]
        facts += [("attempts", "\(item.attempts)" + (item.copies > 1 ? ", seen \(item.copies) times" : ""))]
        if let original = item.editedFrom { facts.append(("copy of", original)) }
        if let copy = detail.editedInto { facts.append(("edited", copy)) }
        return facts
    }

    /// The times of the failures; a corrected copy has the first failure of its original.
    private var failures: String {
        let first = moment(item.firstFailedAt)
        guard item.isUnfailedCopy else { return "first \(first), last \(moment(item.lastFailedAt))" }
        return "not yet, its original first \(first)"
    }

    private func moment(_ moment: Timestamp) -> String {
        "\(HumanText.instant(moment)) (\(HumanText.ago(moment, now)))"
    }

    private func eventLines(_ event: Event) -> [String] {
        guard let stored = event.notification else { return ["The notification is no more: its user was erased."] }
        var lines = [
            "The notification, recorded \(moment(stored.createdAt))\(stored.isRead ? ", read in the app" : "")"
        ]
        let content: JSONValue = [
            "title": .string(stored.content.title), "body": .string(stored.content.body),
            "data": .object(stored.content.data),
        ]
        lines += PrettyJSON.lines(isRevealed ? content : MaskedJSON.body(content), indentation: "  ").indented
        guard let line = event.line else { return lines + ["Its ledger row no longer exists."] }
        let reason = line.reason.map { ", \($0)" } ?? ""
        lines.append("Its line in the ledger: \(line.state?.rawValue ?? "-")\(reason), \(line.attempts.of("attempt"))")
        lines += event.holds.map { hold in
            "Hold \(hold.number) (\(hold.scope.words)) stops it: bellhop hold release \(hold.number) sends it."
        }
        return lines
    }

    private var messageLines: [String] {
        let origin = detail.origin
        let exchange = origin.exchange.isEmpty ? "no exchange" : origin.exchange
        let cut = HumanText.cut(origin.routingKey, to: 100)
        let key = cut.isEmpty ? "without a key" : "with the key \(cut)"
        var lines = ["The message, published to \(exchange) \(key)"]
        lines.append("  properties " + Self.oneLine(HumanText.document(origin.properties)))
        lines.append("  headers " + Self.oneLine(headers))
        if let cut = origin.cutBody {
            lines.append("  its body was cut: \(origin.body.count.of("byte")) are left of \(cut.bytes.grouped)")
            lines.append("  the whole had the SHA-256 \(cut.sha256)")
        }
        guard let body else {
            lines.append(
                "  \(origin.body.count.of("byte")) that are not JSON" + (isRevealed ? ":" : "; --reveal shows them")
            )
            return isRevealed
                ? lines + [HumanText.cut(String(decoding: origin.body, as: UTF8.self), to: 10_000)] : lines
        }
        return lines + PrettyJSON.lines(body, indentation: "  ").indented
    }

    /// The lines that show how two events with the same id differ.
    ///
    /// Personal values are masked on both sides, but the difference remains visible.
    private var conflictLines: [String] {
        func text(_ value: JSONValue) -> String { Self.oneLine(isRevealed ? value : MaskedJSON.part(value)) }
        let more = isRevealed ? "" : "; --reveal shows the values"
        return ["The stored event with this id (-) and the later one (+)\(more)"]
            + conflict.flatMap { change in
                (change.before.map { ["  - \(change.place.text) \(text($0))"] } ?? [])
                    + (change.after.map { ["  + \(change.place.text) \(text($0))"] } ?? [])
            }
    }

    private static func oneLine(_ value: JSONValue?) -> String {
        value.map { HumanText.cut(String(decoding: JSONWriter.canonicalBytes(of: $0), as: UTF8.self), to: 2_000) }
            ?? "-"
    }

    private var historyLines: [String] {
        var text = WrappedText()
        text.add("", "What happened")
        let beginning = item.isUnfailedCopy ? "handed in" : "died: \(item.cause.reason)"
        var events = [(item.lastFailedAt, "\(beginning): \(item.cause.error)")]
        if detail.isFiled { events.append((item.filedAt, "filed")) }
        for entry in detail.history {
            let who = entry.operator.map { " by \($0)" } ?? ""
            events.append((entry.at, "\(entry.kind)\(who): \(entry.words)"))
        }
        // Entries with the same time keep the order of this list.
        let order = events.enumerated().sorted { ($0.element.0, $0.offset) < ($1.element.0, $1.offset) }
        for (_, (moment, words)) in order { text.add("  \(HumanText.instant(moment))  ", words) }
        return text.lines
    }
}

extension [String] {
    /// The lines with the first line indented like the others.
    fileprivate var indented: [String] {
        first.map { ["  " + $0] + dropFirst() } ?? []
    }
}
