import ServiceRuntime
import Store

/// Writes a batch, however long it takes.
///
/// It waits until the database answers, and isolates the single items that the database rejects or fails on.
struct WriteRetrier: Sendable {
    let drain: DrainSignal
    let context: PipelineContext

    /// The result of one item.
    enum Result<Outcome: Sendable>: Sendable {
        case written(Outcome)
        /// The database will never accept the item. The text is the reason, without the item's values.
        case refused(String)
        /// The item fails individually, at least for now: the server fails on it even in a statement without others.
        /// Nothing of it is written.
        case stuck(String)
        /// Not written: a drain or a cancellation came first.
        case abandoned
    }

    /// Writes all items in one statement.
    ///
    /// If the server rejects the content, or fails on the same statement repeatedly, the items are divided in halves
    /// until the single faulty items remain. One faulty item among a thousand costs about twenty statements.
    func write<Item: Sendable, Outcome: Sendable>(
        _ items: [Item],
        _ write: @Sendable ([Item]) async throws(StoreError) -> [Outcome]
    ) async -> [Result<Outcome>] {
        let parts = await inParts(items, write)
        if parts.done.count == 1, let whole = parts.done.first, whole.places.count == items.count {
            return whole.value.map { .written($0) }
        }
        var results = [Result<Outcome>](repeating: .abandoned, count: items.count)
        for (places, outcomes) in parts.done {
            for (place, outcome) in zip(places, outcomes) { results[place] = .written(outcome) }
        }
        for (place, why) in parts.refused { results[place] = .refused(why) }
        for (place, why) in parts.stuck { results[place] = .stuck(why) }
        return results
    }

    /// The answers to a look-up, part by part, and the items without one.
    struct Answers<Item: Sendable, Value: Sendable>: Sendable {
        var values: [Value] = []
        /// The items that fail individually in the database, with the reasons.
        var unanswered: [(item: Item, why: String)] = []
    }

    /// Looks items up in the same way as `write` writes them.
    ///
    /// - Returns: `nil` if a drain or a cancellation came first.
    func ask<Item: Sendable, Value: Sendable>(
        _ items: [Item],
        _ work: @Sendable ([Item]) async throws(StoreError) -> Value
    ) async -> Answers<Item, Value>? {
        let parts = await inParts(items, work)
        guard !parts.isAbandoned else { return nil }
        let unanswered = (parts.refused + parts.stuck).map { (items[$0.place], $0.why) }
        return Answers(values: parts.done.map(\.value), unanswered: unanswered)
    }

    /// Repeats a statement until the server answers it, whatever the error.
    ///
    /// - Returns: `nil` only if a drain or a cancellation came first.
    func insist<Value: Sendable>(_ work: @Sendable () async throws(StoreError) -> Value) async -> Value? {
        var pauses = pauses()
        while true {
            do throws(StoreError) {
                let value = try await work()
                noteAnswer(after: pauses)
                return value
            } catch {
                note(error, of: 1, after: pauses)
            }
            guard await pauses.pause() else { return nil }
        }
    }

    /// Repeats a statement whose result is optional for the batch, and waits while the server is unreachable.
    ///
    /// - Returns: `nil` if the server has failed on it `limit` times, or a drain or a cancellation came first.
    @discardableResult
    func tryAtMost<Value: Sendable>(
        _ limit: Int,
        _ work: @Sendable () async throws(StoreError) -> Value
    ) async -> Value? {
        var pauses = pauses()
        guard case .written(let value) = await attempt(1, failures: limit, &pauses, work) else { return nil }
        return value
    }

    // MARK: - Dividing

    /// The results of items by their positions.
    private struct Parts<Value: Sendable>: Sendable {
        var done: [(places: Range<Int>, value: Value)] = []
        var refused: [(place: Int, why: String)] = []
        var stuck: [(place: Int, why: String)] = []
        /// The ranges that failed and are still to be divided, the largest first.
        private(set) var failing: [Range<Int>] = []
        var attempts = 0
        var isAbandoned = false
        private var hasRefusal = false

        enum Fault: Sendable {
            case content(String)
            case server(String)
        }

        /// Whether the server has answered none of more than `limit` attempts, so that no single item is at fault.
        func isInVain(after limit: Int) -> Bool { attempts > limit && done.isEmpty && !hasRefusal }

        mutating func nextFailing() -> Range<Int> { failing.removeFirst() }

        mutating func failed(_ places: Range<Int>, _ fault: Fault) {
            if case .content = fault { hasRefusal = true }
            guard places.count == 1 else { return failing.append(places) }
            switch fault {
            case .content(let why): refused.append((places.lowerBound, why))
            case .server(let why): stuck.append((places.lowerBound, why))
            }
        }
    }

    private func inParts<Item: Sendable, Value: Sendable>(
        _ items: [Item],
        _ work: @Sendable ([Item]) async throws(StoreError) -> Value
    ) async -> Parts<Value> {
        var parts = Parts<Value>()
        guard !items.isEmpty else { return parts }
        var pauses = pauses()
        var limit = Self.attemptsWithoutAnswer
        while true {
            await trying(items, items.indices, failures: 3, &pauses, &parts, work)
            await divide(items, within: limit, &parts, work)
            guard parts.isInVain(after: limit), !parts.isAbandoned else { return parts }
            // Everything is held and tried again; a batch that consists mostly of faulty items is divided further each
            // time.
            parts = Parts()
            limit = min(limit * 2, 2 * items.count)
            guard await pauses.pause() else {
                parts.isAbandoned = true
                return parts
            }
        }
    }

    private static let attemptsWithoutAnswer = 12

    /// Tries each half of a failed range once, until only single faulty items are left.
    private func divide<Item: Sendable, Value: Sendable>(
        _ items: [Item],
        within limit: Int,
        _ parts: inout Parts<Value>,
        _ work: @Sendable ([Item]) async throws(StoreError) -> Value
    ) async {
        while !parts.failing.isEmpty, !parts.isAbandoned, !parts.isInVain(after: limit) {
            let places = parts.nextFailing()
            let middle = places.lowerBound + places.count / 2
            for half in [places.lowerBound..<middle, middle..<places.upperBound] {
                var pauses = pauses()
                await trying(items, half, failures: 1, &pauses, &parts, work)
            }
        }
    }

    private func trying<Item: Sendable, Value: Sendable>(
        _ items: [Item],
        _ places: Range<Int>,
        failures limit: Int,
        _ pauses: inout RetryBackoff,
        _ parts: inout Parts<Value>,
        _ work: @Sendable ([Item]) async throws(StoreError) -> Value
    ) async {
        let part = places == items.indices ? items : Array(items[places])
        parts.attempts += 1
        let reply = await attempt(part.count, failures: limit, &pauses) { () throws(StoreError) in
            try await work(part)
        }
        switch reply {
        case .written(let value): parts.done.append((places, value))
        case .refused(let why): parts.failed(places, .content(why))
        case .stuck(let why): parts.failed(places, .server(why))
        case .abandoned: parts.isAbandoned = true
        }
    }

    // MARK: - Attempts

    private enum ServerReply<Value: Sendable>: Sendable {
        case written(Value)
        case refused(String)
        case stuck(String)
        case abandoned
    }

    /// Repeats a statement until the server has answered it, rejected its content or failed on it `limit` times in a
    /// row.
    private func attempt<Value: Sendable>(
        _ size: Int,
        failures limit: Int,
        _ pauses: inout RetryBackoff,
        _ work: @Sendable () async throws(StoreError) -> Value
    ) async -> ServerReply<Value> {
        var failures = 0
        while true {
            do throws(StoreError) {
                let value = try await work()
                noteAnswer(after: pauses)
                return .written(value)
            } catch {
                guard !error.refusesContent else { return .refused(error.message) }
                note(error, of: size, after: pauses)
                failures = error.mayBeAboutOneItem ? failures + 1 : 0
                // A long statement is repeated less often, because each attempt takes as long as its limit.
                if failures >= (error.isCancelled ? min(2, limit) : limit) {
                    return .stuck(error.message)
                }
            }
            // If the outcome is unknown, the write is repeated: every write here is idempotent.
            guard await pauses.pause() else { return .abandoned }
        }
    }

    private func pauses() -> RetryBackoff { RetryBackoff(drain: drain, time: context.time, chance: context.chance) }

    private func note(_ error: StoreError, of size: Int, after pauses: RetryBackoff) {
        context.metrics.storeFailures.increment()
        // A retried deadlock is not worth a log message; a database that stays unavailable is.
        guard pauses.failures == 2 else { return }
        context.logger.warning(
            "cannot store the batch, holding it",
            ["size": .integer(size), "error": .error(error)]
        )
    }

    private func noteAnswer(after pauses: RetryBackoff) {
        if pauses.failures > 2 { context.logger.notice("database accepts batches again") }
    }
}

/// The pauses of a batch that waits for an unavailable server: unlimited in normal operation, a few attempts after the
/// start of a drain.
struct RetryBackoff {
    private(set) var failures = 0
    private let drain: DrainSignal
    private let time: any TimeSource
    private var chance: RandomSource
    private var backoff = Backoff(base: .milliseconds(20), cap: .seconds(5))

    init(drain: DrainSignal, time: any TimeSource, chance: RandomSource) {
        self.drain = drain
        self.time = time
        self.chance = chance
    }

    /// Counts a failure and pauses before the next attempt; `false` if there must be none.
    mutating func pause() async -> Bool {
        failures += 1
        let pause = backoff.next(using: &chance)
        guard !drain.isDraining || failures < Self.attemptsWhileDraining, !Task.isCancelled else { return false }
        guard !drain.isDraining else { return (try? await time.sleep(for: pause)) != nil }
        return await drain.sleep(for: pause, by: time)
    }

    private static let attemptsWhileDraining = 5
}

extension DrainSignal {
    /// Sleeps for `span`, but not past the beginning of a drain.
    ///
    /// - Returns: Whether no cancellation came first.
    func sleep(for span: Duration, by time: any TimeSource) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask { (try? await time.sleep(for: span)) != nil }
            group.addTask {
                await self.wait()
                return !Task.isCancelled
            }
            let isOver = await group.next() ?? false
            group.cancelAll()
            return isOver
        }
    }
}
