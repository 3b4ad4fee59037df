import BellhopJSON
import CLI
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
                : FanoutAnswer.table(found) + HumanText.rest(found.count, of: list.count, "fan-out")
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
        guard preview.count > 0 else {
            let lines = try await operations.nothing(for: preview)
            call.answer(FanoutActPreview.json(0), lines: lines)
            return .answerIsNo
        }
        if call.words.has("dry-run") { return try await foresee(preview) }
        guard try call.confirm(preview.question) else { return .answerIsNo }
        let agreement = preview.question.agreement
        let items = try await operations.perform(preview, agreement, by: try call.actingOperator())
        call.answer(
            FanoutActPreview.json(items),
            lines: ["\(act.pastWords) \(items.of("fan-out"))."] + (act == .resume ? [] : [Self.pushesContinue])
        )
        return .done
    }

    private static let pushesContinue =
        "Pushes of notifications that are already in the app are still sent, unless a hold stops them: bellhop hold add."

    private func foresee(_ preview: FanoutActPreview) async throws -> ExitCode {
        let (count, meant) = (preview.count, try await operations.affected(by: preview))
        call.answer(
            FanoutList(count: count, fanouts: meant).json,
            lines: ["This would \(verb.rawValue) \(count.of("fan-out")); nothing was changed.", ""]
                + FanoutAnswer.table(meant)
                + (meant.count < count ? ["\(meant.count) of \(count.of("fan-out"))."] : [])
        )
        return .done
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
