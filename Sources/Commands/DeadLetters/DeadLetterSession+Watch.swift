import BellhopRules
import CLI
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
            let progress = try await progress(of: id)
            let bar = ReplayView(progress, now: SystemTime().timestamp).bar
            terminal?.show(bar)
            if progress.isFinished || progress.replay.state == .paused {
                terminal?.show("")
                return try await report(progress)
            }
            looks += 1
            if request.shell.terminal == nil, looks.isMultiple(of: Self.breath) { say(bar) }
            still.note(settled: progress.settled, isCarried: progress.replay.isCarried)
            if still.isWorthAWord {
                terminal?.show("")
                let why = await whyNobodyCarries()
                isJSON ? say(why) : print(why)
            }
            // Without a terminal, no operator can end the command.
            if request.shell.terminal == nil, still.isOver {
                throw failure(.tryAgain, "it has not moved for two minutes", Self.goesOn, "replay \(id)")
            }
            try await Task.sleep(for: .milliseconds(250))
        }
    }

    /// Prints a line that does not belong to the answer.
    private func say(_ line: String) { request.shell.complaints.print(line: line) }

    /// Performs `replays [N]`: it shows one replay, or all of them, active ones first.
    func replays() async throws -> ExitCode {
        let id = try replayNumber()
        let emphasis = { (index: Int, _: String) -> LineStyle in index == 0 ? .heading : .plain }
        if words.has("watch") {
            try await request.call.watch(
                {
                    guard let id else { return table(of: try await book.latest(atMost: Self.listed)) }
                    return try await view(of: try await progress(of: id)).lines
                },
                emphasis: emphasis
            )
        }
        if let id { return try await report(try await progress(of: id)) }
        let records = try await book.latest(atMost: Self.listed)
        answer(
            .members([("replays", .array(records.map { .members($0.members) }))]),
            lines: table(of: records),
            emphasis: emphasis
        )
        return .done
    }

    private static let listed = 20

    private func table(of records: [ReplayRecord]) -> [String] {
        guard !records.isEmpty else { return ["Nothing was ever replayed."] }
        let now = SystemTime().timestamp
        let rows = records.map { record in
            let isEnding = record.finishedAt == nil && record.state == .cancelled
            return [
                String(record.id), record.state.rawValue + (isEnding ? ", ending" : ""),
                HumanText.ago(record.startedAt, now), HumanText.cut(record.operator, to: 20), record.items.grouped,
                HumanText.cut(record.because, to: 500),
            ]
        }
        let header = ["replay", "state", "begun", "by", "items", "because"]
        return TextTable(header, texts: [1, 2, 3, 5], flexible: [5], rows: rows).lines(fitting: width)
    }

    private func view(of progress: ReplayProgress) async throws -> ReplayView {
        let failures = try await book.failures(of: progress.replay.id, atMost: Self.failuresShown)
        let course = try await book.course(of: progress.replay.id)
        return ReplayView(progress, failures: failures, course: course, now: SystemTime().timestamp)
    }

    private func progress(of id: Int64) async throws -> ReplayProgress {
        guard let progress = try await book.progress(of: id) else {
            throw failure(.answerIsNo, "unknown replay", Self.listing, "\(id)")
        }
        return progress
    }

    /// Performs `pause`, `resume` and `cancel`.
    ///
    /// They work from any terminal.
    func control() async throws -> ExitCode {
        guard let id = try replayNumber() else {
            throw words.misuse("\(request.verb.rawValue) takes a replay's number")
        }
        let control: ReplayAdmin.Control
        switch request.verb {
        case .pause: control = .pause
        case .resume: control = .resume
        default: control = .cancel
        }
        // Checks that the replay exists before the operator is asked for a reason.
        _ = try await self.progress(of: id)
        guard try await book.control(id, control, by: try actingOperator()) else {
            let state = try await book.progress(of: id).map { "it is \($0.replay.state.rawValue)" }
            throw failure(.answerIsNo, state ?? "unknown replay", Self.listing, "replay \(id)")
        }
        guard let progress = try await book.progress(of: id) else { return .done }
        _ = try await report(progress)
        return .done
    }

    private func replayNumber() throws(CommandFailure) -> Int64? {
        guard let text = operands.first else { return nil }
        guard operands.count == 1, let id = Int64(text) else {
            throw words.misuse(
                "expected the number of a replay; found \(operands.joined(separator: " "))"
            )
        }
        return id
    }

    /// Prints the state of a replay.
    ///
    /// The exit code shows whether everything succeeded.
    private func report(_ progress: ReplayProgress) async throws -> ExitCode {
        let view = try await view(of: progress)
        answer(view.json, lines: view.lines)
        switch progress.replay.state {
        case .done: return progress.outcomes.keys.contains { $0.isFailure || $0 == .tooOld } ? .answerIsNo : .done
        case .running: return .done
        case .paused: return .tryAgain
        case .cancelled: return .answerIsNo
        }
    }

    private static let listing = "bellhop dead-letters replays lists them"

    /// Polls between two progress lines if there is no terminal: ten seconds.
    private static let breath = 40
    private static let failuresShown = 10
    private static let goesOn =
        "it continues as soon as a scheduler runs; bellhop dead-letters replays shows its progress"
}
