import BellhopJSON
import CLI
import Foundation
import Operations
import ServiceRuntime
import Store

/// One call of `bellhop fanouts`.
struct FanoutSession: Sendable {
    let call: Call
    let verb: FanoutVerb
    let operations: FanoutOperations

    private var filter: FanoutFilter {
        get throws { try FanoutFilter(call.fields, for: verb.rawValue) }
    }

    /// Performs `list`: fan-outs that can continue come first, then the most recent ones.
    func list() async throws -> ExitCode {
        let list = try await operations.list(call.fields)
        let found = list.fanouts
        call.answer(
            list.json,
            lines: found.isEmpty
                ? ["No fan-outs match."]
                : FanoutAnswer.table(found, fitting: call.shell.output.width)
                    + HumanText.rest(found.count, of: list.count, "fan-out")
        )
        return found.isEmpty ? .answerIsNo : .done
    }

    /// Performs `show`: it prints one fan-out with all details.
    func show() async throws -> ExitCode {
        let answer = try await operations.show(try filter)
        call.answer(.members(answer.members), lines: answer.lines)
        return .done
    }

    /// Performs `pause`, `resume` and `cancel` on all fan-outs that match.
    func perform(_ act: FanoutAdmin.Act) async throws -> ExitCode {
        let preview = try await operations.preview(act, on: try filter)
        let hold = call.words.has("release") ? try await operations.previewRelease(of: try filter) : nil
        guard preview.count > 0 else {
            // A fan-out that ended before its campaign was stopped has only the hold.
            if let hold {
                guard !call.words.has("dry-run") else { return foresee(hold) }
                guard try hold.isSmall || call.confirm(hold.question) else { return .answerIsNo }
                return try await release(hold, by: try call.actingOperator())
            }
            let lines = try await operations.nothing(for: preview)
            call.answer(FanoutActPreview.json(0), prose: lines)
            return .answerIsNo
        }
        if call.words.has("dry-run") { return try await foresee(preview, hold) }
        // Pausing one fan-out loses nothing and every second counts, so it comes before the count and the reason.
        let isAtOnce = act == .pause && preview.count == 1
        guard try isAtOnce || call.confirm(preview.question(releasing: hold)) else { return .answerIsNo }
        let (person, isUnexplained) = isAtOnce ? call.operatorAtOnce() : (try call.actingOperator(), false)
        let items = try await operations.perform(preview, preview.question.agreement, by: person)
        let holds = try await operations.holds(after: preview).filter { $0.number != hold?.hold.number }
        let pushes = act == .resume ? holds.map(\.stopWords) : [try await self.pushes(of: preview)]
        call.answer(
            FanoutActPreview.json(items, stoppedBy: holds),
            prose: ["\(act.pastWords) \(items.of("fan-out"))."] + pushes
        )
        if isUnexplained { try await explain() }
        return if let hold { try await release(hold, by: person) } else { .done }
    }

    /// The state of the pushes that are recorded already, for a pause or the end of a fan-out.
    private func pushes(of preview: FanoutActPreview) async throws -> String {
        let recorded = "Pushes of notifications that are in the app, or on a page in progress,"
        guard preview.count == 1, let hold = try await operations.hold(on: try filter) else {
            return "\(recorded) are still sent, unless a hold stops them: bellhop hold add."
        }
        return "\(recorded) wait behind hold \(hold); bellhop hold discard \(hold) --event ID ends them."
    }

    /// Performs `stop`: it pauses the fan-out and holds its type, before it asks for a reason.
    func stop() async throws -> ExitCode {
        let (person, isUnexplained) = call.operatorAtOnce()
        let stopped = try await operations.stop(try filter, by: person)
        call.answer(stopped.json, prose: stopped.lines)
        if isUnexplained { try await explain() }
        return .done
    }

    /// Releases the hold of the fan-out's type, which undoes `stop` together with the resumption.
    private func release(_ preview: HoldRelease, by operator: ActingOperator) async throws -> ExitCode {
        _ = try await operations.release(preview, by: `operator`)
        if !call.isJSON { call.tell(["Released hold \(preview.hold.number); now sent: \(preview.words)."]) }
        return .done
    }

    /// Asks for the reason of an act that was performed already, and adds it to the audit.
    private func explain() async throws {
        guard let person = call.operatorAfterwards() else { return }
        try await operations.note(on: try filter, by: person)
    }

    /// Performs `list-users`: it writes one line for each user, in the order of their ids.
    ///
    /// The list is written page by page, since it may be long. As JSON it is one document.
    func listUsers() async throws -> ExitCode {
        let (shell, isJSON, onlySent) = (call.shell, call.isJSON, call.words.has("sent"))
        var count = 0
        let record = try await operations.users(of: try filter) { record, users in
            let wanted = users.filter { !onlySent || $0.mayHaveIt }
            if count == 0, !wanted.isEmpty {
                shell.print(line: isJSON ? "{\"fanout\":\(record.number),\"users\":[" : FanoutUser.heading)
            }
            for user in wanted {
                let json = (count == 0 ? "" : ",") + user.json.written
                shell.print(line: isJSON ? json : user.line)
                count += 1
            }
            // A list without a reader is useless.
            return shell.output.isOpen
        }
        if isJSON {
            shell.print(line: (count == 0 ? "{\"fanout\":\(record.number),\"users\":[" : "") + "],\"count\":\(count)}")
        } else {
            shell.print(line: count == 0 ? "No users match." : "\(count.of("user")).")
        }
        return count == 0 ? .answerIsNo : .done
    }

    private func foresee(_ preview: FanoutActPreview, _ hold: HoldRelease?) async throws -> ExitCode {
        let (count, meant) = (preview.count, try await operations.affected(by: preview))
        let output = call.shell.output
        let effects = ["This would \(verb.rawValue) \(count.of("fan-out")); nothing was changed."]
        call.answer(
            FanoutList(count: count, fanouts: meant).json,
            lines: output.filled(effects + (hold.map { [$0.forecast] } ?? [])) + [""]
                + FanoutAnswer.table(meant, fitting: output.width)
                + (meant.count < count ? ["\(meant.count) of \(count.of("fan-out"))."] : [])
        )
        return .done
    }

    /// The dry run of a release, for a fan-out that has finished.
    private func foresee(_ hold: HoldRelease) -> ExitCode {
        call.answer(
            FanoutActPreview.json(0),
            prose: ["All records are in the app. \(hold.forecast)", "Nothing was changed."]
        )
        return .done
    }
}

extension FanoutActPreview {
    /// The one question before the act and the release of a hold.
    fileprivate func question(releasing hold: HoldRelease?) -> ActQuestion {
        guard let hold, !hold.isSmall else { return question }
        return hold.question(resuming: count)
    }
}

extension HoldRelease {
    fileprivate var forecast: String { "This would release hold \(self.hold.number) and send \(words)." }
}

extension OperatorHold {
    /// The effect on the pushes of a fan-out that was resumed.
    fileprivate var stopWords: String {
        let pushes = "Its pushes" + (scope.provider.map { " through \($0)" } ?? "")
        return "\(pushes) wait behind hold \(number) (\(scope.words)): bellhop hold release \(number) sends them."
    }
}

extension FanoutStopped {
    /// The effect, and the commands that come next.
    fileprivate var lines: [String] {
        let hold = hold.held.hold
        if let tooLateWords {
            return [
                tooLateWords, "bellhop hold release \(hold.number) releases it.",
                "Users who have its notification in the app keep it: bellhop fanouts list-users \(record.number) lists them.",
            ]
        }
        let event = "--event \(record.event)"
        let cancel = state == .paused ? "bellhop fanouts cancel \(record.number), " : ""
        let undo =
            state == .paused
            ? "bellhop fanouts resume \(record.number) --release continues it and sends all that waits behind the hold."
            : "bellhop hold release \(hold.number) sends all that waits behind it."
        let earlier =
            self.hold.isNew
            ? "" : "The hold is older than this stop: a release also sends what waited before. bellhop hold counts it."
        return [
            words,
            "Hold \(hold.number) stops all pushes of \(hold.scope.words), also of other events. "
                + self.hold.workers.words,
            results?.goneWords ?? "",
            "To end it: \(cancel)bellhop hold discard \(hold.number) \(event), then bellhop hold release \(hold.number).",
            "To undo: \(undo)", earlier,
            "Users who have its notification in the app keep it: bellhop fanouts list-users \(record.number) lists them.",
        ].filter { !$0.isEmpty }
    }
}

extension FanoutUser {
    fileprivate static let heading = "outcome           sent  recorded                 user"

    fileprivate var line: String {
        let word = outcome.padding(toLength: 16, withPad: " ", startingAt: 0)
        let sent = deliveries.sent.grouped.padding(toLength: 4, withPad: " ", startingAt: 0)
        let isWaiting = deliveries.mayHaveArrived > 0 && deliveries.waiting > 0
        let why = [isWaiting ? "still waiting" : nil, reason].compactMap { $0 }
        let reason = deliveries.sent > 0 || why.isEmpty ? "" : " (\(why.joined(separator: ", ")))"
        return "\(word)  \(sent)  \(HumanText.instant(recordedAt))  \(user)\(reason)"
    }
}

extension FanoutAdmin.Act {
    fileprivate var pastWords: String {
        switch self {
        case .pause: "Paused"
        case .resume: "Resumed"
        case .cancel: "Cancelled"
        }
    }
}
