package import BellhopJSON
package import BellhopRules
import ServiceRuntime
package import Store

/// The items that a replay would send, and the items that it leaves out.
package struct ReplayPreview: Sendable {
    package let order: ReplayOrder
    package let survey: ReplaySurvey
    let composition: DeadLetterComposition
    /// The items that are left out, in lines.
    package let leftOut: [String]

    package var count: Int { survey.eligible.items }

    package var question: ActQuestion {
        ActQuestion(
            count: count,
            .replays,
            survey.eligible.text(composition),
            asOf: order.filter.filedBy,
            lines: leftOut,
            about: composition
        )
    }

    /// The answer if nothing matches.
    package static let nothing = "No open items match that may be replayed."
    package static let nothingJSON = JSONValue.members([("items", .int(0))])
}

/// A replay that has begun.
package struct ReplayStarted: Sendable {
    package let id: Int64
    package let items: Int
    /// The time at which it begins to send, or `nil` if that is now.
    package let notBefore: Timestamp?

    package var json: JSONValue { .members([("replay", .int(id))]) }
}

/// The operators' work on replays.
package struct ReplayOperations: Sendable {
    let context: OperationsContext

    package init(_ context: OperationsContext) {
        self.context = context
    }

    private var store: ReplayAdmin { ReplayAdmin(pool: context.pool) }
    var deadLetters: DeadLetterOperations { DeadLetterOperations(context) }

    // MARK: - Starting

    /// Fixes the list of items that match now; with `asOf`, only items that were filed by then.
    package func preview(_ input: DeadLetterInput, asOf: Timestamp?) async throws -> ReplayPreview {
        let filter = try await deadLetters.filter(input)
        try input.expectChoice(filter)
        return try await preview(filter, input, asOf: asOf)
    }

    func preview(
        _ filter: DeadLetterFilter,
        _ input: DeadLetterInput,
        asOf: Timestamp?
    ) async throws -> ReplayPreview {
        let cutoff = try await deadLetters.cutoff()
        let limits = ReplayLimits(
            perItem: try input.fields.number("cap", in: 1...1_000) ?? ReplayLimits.usualPerItem,
            failedSince: cutoff.earliest
        )
        var order = ReplayOrder(filter, limits: limits, pace: try input.pace())
        order.filter.filedBy = asOf
        let survey = try await store.survey(order)
        order.filter.filedBy = asOf ?? survey.eligible.asOf
        return ReplayPreview(
            order: order,
            survey: survey,
            composition: try await deadLetters.store.composition(order.eligible),
            leftOut: leftOut(survey, cutoff)
        )
    }

    private func leftOut(_ survey: ReplaySurvey, _ cutoff: ReplayCutoff) -> [String] {
        var lines: [String] = []
        if survey.tooOld > 0 { lines.append(deadLetters.tooOld(survey.tooOld, cutoff)) }
        if survey.tooOften > 0 {
            lines.append("\(survey.tooOften.of("item")) were replayed too often and stay; --cap N allows more.")
        }
        if survey.cut > 0 { lines.append(HumanText.cutBodies(survey.cut)) }
        return lines
    }

    /// Rejects a replay while another one holds some of its items.
    package func expectFree(_ preview: ReplayPreview, _ input: DeadLetterInput) async throws {
        if let id = try await store.holder(of: preview.order.filter) { throw try await overlap(id, input) }
    }

    private func overlap(_ id: Int64, _ input: DeadLetterInput) async throws -> OperationError {
        guard let other = try await store.progress(of: id) else {
            return input.error(.tryAgain, "another replay held some of them", advice: "look again")
        }
        let settled = "\(other.settled.grouped) of \(other.replay.items.grouped) are settled"
        let start = other.replay.scheduledStart(at: input.now)
        let state = start.map { "scheduled for \(HumanText.instant($0))" } ?? other.replay.state.rawValue
        let isPaused = other.replay.state == .paused
        return input.error(
            .tryAgain,
            "replay \(id) of \(other.replay.operator), begun \(HumanText.ago(other.replay.startedAt, input.now)), "
                + "\(state), holds some of them (\(settled))",
            advice: isPaused
                ? "bellhop dead-letters resume \(id) continues it, cancel \(id) ends it"
                : "wait for it, or bellhop dead-letters cancel \(id)"
        )
    }

    /// Begins a replay, which a scheduler runs.
    package func start(
        _ preview: ReplayPreview,
        _ input: DeadLetterInput,
        by operator: ActingOperator
    ) async throws -> ReplayStarted {
        switch try await store.start(preview.order, agreed: preview.count, by: `operator`) {
        case .started(let id, let items):
            return ReplayStarted(id: id, items: items, notBefore: preview.order.pace.notBefore)
        case .overlaps(let id): throw try await overlap(id, input)
        case .moreThanAgreed(let items): throw input.tooMany(items, agreed: preview.count, "nothing has begun")
        case .nothingToDo:
            throw input.error(.tryAgain, "another operator changed them meanwhile", advice: "look again")
        }
    }

    // MARK: - Running replays

    /// Returns the replays that have not ended, then the latest others.
    package func latest() async throws -> [ReplayEntry] { try await store.latest(atMost: Self.listed) }

    /// Returns the progress of a replay.
    package func progress(of id: Int64, _ input: DeadLetterInput) async throws -> ReplayProgress {
        guard let progress = try await store.progress(of: id) else {
            throw input.error(.notPossible, "unknown replay", advice: Self.listing, about: "\(id)")
        }
        return progress
    }

    /// Returns the state of a replay with its outcomes and latest failures.
    package func answer(_ progress: ReplayProgress) async throws -> ReplayAnswer {
        let id = progress.replay.id
        let filter = progress.replay.filter
        let now = SystemTime().timestamp
        let deferred = progress.outcomes[.deferred] == nil ? [] : try await store.deferred(of: id)
        let holds = deferred.isEmpty ? [] : try await HoldAdmin(pool: context.pool).all()
        return ReplayAnswer(
            progress,
            failures: try await store.failures(of: id, atMost: Self.failuresShown),
            unsent: progress.outcomes.keys.contains(where: \.isUnsent) ? try await store.unsent(of: id) : [],
            deferred: DeferredDeliveries.all(deferred, holds),
            course: try await store.course(of: id),
            reach: progress.outcomes[.fannedOut] == nil ? nil : try await store.reach(of: id),
            group: try await FilterNames(of: [filter], in: deadLetters.store).group(of: filter),
            obstacle: progress.standstill(at: now) == nil ? nil : await obstacle(of: progress.replay),
            now: now
        )
    }

    /// Pauses, resumes or cancels a replay, and returns its new progress.
    package func control(
        _ control: ReplayAdmin.Control,
        _ id: Int64,
        _ input: DeadLetterInput,
        by operator: ActingOperator
    ) async throws -> ReplayProgress {
        guard try await store.control(id, control, by: `operator`) else {
            let state = try await store.progress(of: id).map { "it is \($0.replay.state.rawValue)" }
            let subject = "replay \(id)"
            throw input.error(.notPossible, state ?? "unknown replay", advice: Self.listing, about: subject)
        }
        return try await progress(of: id, input)
    }

    /// Resumes a paused replay, at a new rate if one is given; a running one gets the new rate immediately.
    package func resume(
        _ id: Int64,
        _ input: DeadLetterInput,
        by operator: ActingOperator
    ) async throws -> ReplayProgress {
        guard let rate = try input.rate() else { return try await control(.resume, id, input, by: `operator`) }
        let before = try await progress(of: id, input)
        if before.replay.state == .paused, before.replay.pace.rate == rate {
            return try await control(.resume, id, input, by: `operator`)
        }
        let changed = try await changeRate(id, input, by: `operator`)
        return changed.replay.state == .paused ? try await control(.resume, id, input, by: `operator`) : changed
    }

    /// Changes the rate of a running or paused replay, which stays in its state.
    package func changeRate(
        _ id: Int64,
        _ input: DeadLetterInput,
        by operator: ActingOperator
    ) async throws -> ReplayProgress {
        guard let rate = try input.rate() else { throw OperationError.invalid("rate", "is missing") }
        let before = try await progress(of: id, input)
        guard try await store.setRate(id, rate, by: `operator`) else {
            let state = "it is \(before.replay.state.rawValue)"
            throw input.error(.notPossible, state, advice: Self.listing, about: "replay \(id)")
        }
        return try await progress(of: id, input)
    }

    /// Adds a reason to the audit, for an act that was performed before its reason was known.
    package func note(_ id: Int64, by operator: ActingOperator) async throws {
        try await store.note(id, by: `operator`)
    }

    private static let listed = 20
    private static let failuresShown = 10
    private static let listing = "bellhop dead-letters replays lists them"
}

extension [ReplayEntry] {
    /// The answer of `replays`.
    package func json(at now: Timestamp) -> JSONValue {
        .members([
            (
                "replays",
                .array(
                    map { entry in
                        let counts: [(String, JSONValue)] = [
                            ("settled", .int(entry.settled)), ("left", .int(entry.left)),
                        ]
                        return .members(entry.replay.members(at: now) + counts)
                    }
                )
            )
        ])
    }
}
