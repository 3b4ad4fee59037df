import BellhopRules
import CLI
import Operations
import ServiceRuntime
import Settings
import Store

extension DeadLetterSession {
    /// Shows a replay's progress until it ends or pauses.
    ///
    /// Ctrl-C ends only the display.
    func watch(_ id: Int64) async throws -> ExitCode {
        let terminal = isJSON ? nil : request.shell.terminal
        var still = ReplayStandstill()
        var looks = 0
        while true {
            let progress = try await replays.progress(of: id, input)
            let bar = ReplayAnswer(progress, now: SystemTime().timestamp).bar
            terminal?.show(bar)
            if progress.isFinished || progress.replay.state == .paused {
                terminal?.show("")
                return try await report(progress)
            }
            looks += 1
            if request.shell.terminal == nil, looks.isMultiple(of: Self.breath) { say(bar) }
            still.note(settled: progress.settled, isCarried: progress.replay.isCarried)
            if let why = await reason(for: still) {
                terminal?.show("")
                isJSON ? say(why) : print(why)
            }
            // Without a terminal, no operator can end the command.
            if request.shell.terminal == nil, still.isOver {
                let message = "it has not moved for two minutes"
                throw input.error(.tryAgain, message, advice: Self.goesOn, about: "replay \(id)")
            }
            try await Task.sleep(for: .milliseconds(250))
        }
    }

    /// Returns the cause of a standstill if it should be reported now and can be detected.
    private func reason(for still: ReplayStandstill) async -> String? {
        if still.isWorthAWord { return await replays.standstillReason() }
        return still.isStill ? await replays.obstacle() : nil
    }

    /// Prints a line that does not belong to the answer.
    private func say(_ line: String) { request.shell.complaints.print(line: line) }

    /// Performs `replays [N]`: it shows one replay, or all of them, active ones first.
    func listReplays() async throws -> ExitCode {
        let id = try input.replayNumber()
        let emphasis = { (index: Int, _: String) -> LineStyle in index == 0 ? .heading : .plain }
        if words.has("watch") {
            guard let id else {
                try await request.call.watch({ table(of: try await replays.latest()) }, emphasis: emphasis)
            }
            return try await request.call.watch(
                {
                    let progress = try await replays.progress(of: id, input)
                    let isOver = progress.isFinished || progress.replay.state == .paused
                    return (try await replays.answer(progress).lines, isOver ? Self.exitCode(of: progress) : nil)
                },
                emphasis: emphasis
            )
        }
        if let id { return try await report(try await replays.progress(of: id, input)) }
        let latest = try await replays.latest()
        answer(
            latest.json(at: input.now),
            lines: table(of: latest),
            emphasis: emphasis
        )
        return .done
    }

    private func table(of latest: [ReplayEntry]) -> [String] {
        guard !latest.isEmpty else { return ["No replays yet."] }
        let now = SystemTime().timestamp
        let rows = latest.map { entry in
            let record = entry.replay
            let isEnding = record.finishedAt == nil && record.state == .cancelled
            let start = record.scheduledStart(at: now)
            return [
                String(record.id),
                start.map { _ in "scheduled" } ?? record.state.rawValue + (isEnding ? ", ending" : ""),
                start.map { HumanText.ahead($0, now) } ?? HumanText.ago(record.startedAt, now),
                HumanText.cut(record.operator, to: 20), record.items.grouped,
                settled(entry), HumanText.cut(record.because, to: 500),
            ]
        }
        let header = ["replay", "state", "begun", "by", "items", "settled", "because"]
        return TextTable(header, texts: [1, 2, 3, 6], flexible: [6], rows: rows).lines(fitting: width)
    }

    /// Returns the settled items of a list entry; of a cancelled replay the sent items and the unsent ones.
    private func settled(_ entry: ReplayEntry) -> String {
        guard entry.left > 0 else { return entry.settled.grouped }
        return "\((entry.settled - entry.left).grouped), \(entry.left.grouped) left"
    }

    /// Performs `pause`, `resume` and `cancel`.
    ///
    /// They work from any terminal.
    func control(_ control: ReplayAdmin.Control) async throws -> ExitCode {
        guard let id = try input.replayNumber() else {
            throw words.misuse("\(request.verb.rawValue) takes a replay's number")
        }
        // Checks that the replay exists before the operator is asked for a reason.
        _ = try await replays.progress(of: id, input)
        switch control {
        case .pause: try await pause(id)
        case .resume:
            _ = try await report(try await replays.resume(id, input, by: try actingOperator()))
            explain(["This command does not wait; bellhop dead-letters replays \(id) --watch shows the progress."])
        case .cancel: _ = try await report(try await replays.control(.cancel, id, input, by: try actingOperator()))
        }
        return .done
    }

    /// Pauses a replay before its reason is asked for: a pause loses nothing, and every second counts.
    private func pause(_ id: Int64) async throws {
        let (person, isUnexplained) = request.call.operatorAtOnce()
        _ = try await report(try await replays.control(.pause, id, input, by: person))
        guard isUnexplained, let person = request.call.operatorAfterwards() else { return }
        try await replays.note(id, by: person)
    }

    /// Prints the state of a replay.
    ///
    /// The exit code shows whether everything succeeded.
    private func report(_ progress: ReplayProgress) async throws -> ExitCode {
        let found = try await replays.answer(progress)
        answer(found.json, lines: found.lines)
        return Self.exitCode(of: progress)
    }

    private static func exitCode(of progress: ReplayProgress) -> ExitCode {
        switch progress.replay.state {
        case .done: return progress.outcomes.keys.contains { $0.isFailure || $0 == .tooOld } ? .answerIsNo : .done
        case .running: return .done
        case .paused: return .tryAgain
        case .cancelled: return .answerIsNo
        }
    }

    /// Polls between two progress lines if there is no terminal: ten seconds.
    private static let breath = 40
    private static let goesOn =
        "it continues as soon as a scheduler runs; bellhop dead-letters replays shows its progress"
}
