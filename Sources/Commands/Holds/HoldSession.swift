import BellhopJSON
import BellhopRules
import CLI
import Operations
import ServiceRuntime
import Settings
import Store

/// One call of `bellhop hold`.
struct HoldSession: Sendable {
    let call: Call
    let operations: HoldOperations

    private var words: Words { call.words }
    private var width: Int? { call.shell.output.width }

    /// Performs `list`: it shows the active holds and the number of deliveries behind each.
    func list() async throws -> ExitCode {
        guard words.operands.count <= 1 else { throw words.misuse("list takes no number") }
        let held = try await operations.list(app: words.value("app"))
        call.answer(
            .members([("holds", .array(held.map(\.json)))]),
            lines: held.isEmpty
                ? ["Nothing is held."]
                : HeldDeliveries.table(held).lines(fitting: width) + call.shell.output.filled(Self.choices)
        )
        return held.isEmpty ? .answerIsNo : .done
    }

    private static let choices = [
        "",
        "bellhop hold discard NUMBER [--event ID] ends the deliveries that wait: they are never sent.",
        "bellhop hold release NUMBER sends them.",
    ]

    /// Performs `add`: from now on nothing in the hold's scope is sent.
    func add() async throws -> ExitCode {
        guard words.operands.count == 1 else { throw words.misuse("add takes --app, and no operand") }
        let scope = try operations.scope(call.fields)
        if !operations.checksNames {
            let warning =
                "bellhop: the catalogues (BELLHOP_CATALOGS) are not set or have a fault, so it was not checked that "
                + "there is \(scope.words)"
            for line in call.shell.complaints.filled([warning]) { call.shell.complaints.print(line: line) }
        }
        let added = try await operations.add(scope, by: try call.actingOperator())
        let hold = added.held.hold
        call.answer(
            added.json,
            prose: [
                added.isNew
                    ? "Hold \(hold.number): \(scope.words). Events are still recorded in the app, and their deliveries "
                        + "wait."
                    : "\(scope.words) is already held: \(hold.operator) added hold \(hold.number) "
                        + "\(HumanText.ago(hold.placedAt, added.held.asOf)) because \"\(hold.because)\".",
                added.workers.words,
                added.held.countAtFirst,
            ]
        )
        return .done
    }

    /// Performs `release`: the waiting deliveries are sent, within concurrency and rate limits.
    func release() async throws -> ExitCode {
        let preview = try await operations.previewRelease(call.fields)
        let hold = preview.hold
        guard try preview.isSmall || call.confirm(preview.question) else { return .answerIsNo }
        let released = try await operations.release(hold, by: try call.actingOperator())
        call.answer(
            released.json,
            prose: ["Released hold \(hold.number): \(hold.scope.words). \(released.consequence)"]
                + (preview.claimed.words.map { [$0] } ?? [])
        )
        return .done
    }

    /// Performs `discard`: deliveries behind a hold are never sent.
    ///
    /// The notifications stay in the app.
    func discard() async throws -> ExitCode {
        let preview = try await operations.previewDiscard(call.fields, asOf: nil)
        let hold = preview.hold
        guard preview.deliveries > 0 else {
            // Without an event, nothing would be changed, and no reason is asked for.
            let person = preview.isOfEvent && !words.has("dry-run") ? try call.actingOperator() : nil
            let answer = try await operations.discardNothing(preview, by: person)
            call.answer(HoldDiscarded.nothing.json, prose: [answer])
            return .answerIsNo
        }
        if words.has("dry-run") {
            call.answer(
                preview.json,
                prose: ["This would discard \(preview.words), held by \(hold.scope.words); nothing was changed."]
            )
            return .done
        }
        guard try call.confirm(preview.question) else { return .answerIsNo }
        let done = try await operations.discard(preview, preview.question.agreement, by: try call.actingOperator())
        call.answer(
            done.json,
            prose: ["Discarded \(done.count.deliveries); hold \(hold.number) stays active.", done.rest(of: preview)]
        )
        return .done
    }
}

extension HoldReleased {
    /// The effect of a release, and the remaining effect of other holds.
    fileprivate var consequence: String {
        let names = stillHeldBy.map { "\($0.number) (\($0.scope.words))" }.joined(separator: "; ")
        if stillHeldBy.contains(where: { $0.scope.contains(held.hold.scope) }) {
            return "Behind it: \(held.countAndWhere), which other holds still stop: \(names)."
        }
        let rest = stillHeldBy.isEmpty ? "" : " These holds still apply: \(names)."
        let sent =
            held.isEmpty ? "No deliveries waited behind it." : "Now sent, whatever their event: \(held.countAndWhere)."
        return "\(sent) Deliveries deferred for quiet hours, a digest or a retry are sent when they are due.\(rest)"
    }
}

extension HoldDiscarded {
    /// Describes the deliveries that a discard has not reached, and the next step.
    fileprivate func rest(of discard: HoldDiscard) -> String {
        guard left == 0 else {
            return "\(left.of("delivery still waits", "deliveries still wait")): discard again before you release."
        }
        guard discard.isOfEvent else {
            return "Deliveries that are deferred for quiet hours, a digest or a retry reach the hold when they are due."
        }
        return
            "No delivery of this event waits any longer. \(Self.includesKilledWorkers) To send everything else that waits: "
            + "bellhop hold release \(discard.hold.number)."
    }
}
