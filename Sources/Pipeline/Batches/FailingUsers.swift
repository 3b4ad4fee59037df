import BellhopRules
import Postgres
import ServiceRuntime
import Store
import Synchronization

/// The users on whose rows the server fails when a duty takes work of many users with one statement.
///
/// Such a statement names no users, so it cannot be divided by its parameters. If the server fails on it, the users at
/// the head of the queue become suspects: the statement continues without them, and is repeated for parts of them. A
/// user for whom it fails alone is left out for a minute, so that the others are not delayed.
///
/// Nobody is left out before the statement has taken work of others, because the server may fail on everyone.
///
/// Thread safety: the state is behind a lock, which no statement holds.
final class FailingUsers: Sendable {
    /// The value of one statement, or the values of several.
    enum Taken<Value: Sendable>: Sendable {
        case whole(Value)
        /// Suspects are excluded, or their parts were taken separately.
        case parts([Value])

        var values: [Value] {
            switch self {
            case .whole(let value): [value]
            case .parts(let values): values
            }
        }
    }

    private struct State {
        var leftOut: [Int64: ContinuousClock.Instant] = [:]
        /// Parts of the users of failed statements, which are still to be repeated.
        var suspects: [QueueHead] = []

        var excluded: [Int64] { leftOut.keys + suspects.flatMap(\.users) }
    }

    /// What is taken, for the log.
    private let label: String
    private let logger: Logger
    private let setAside: SetAsideMetrics
    private let time: any TimeSource
    private let state = Mutex(State())

    init(taking label: String, time: any TimeSource, logger: Logger, metrics: SetAsideMetrics) {
        self.label = label
        self.time = time
        self.logger = logger
        setAside = metrics
    }

    /// Takes work of all users except those who are left out or suspects, and then of parts of the suspects.
    ///
    /// `head` returns the users whose work the statement would take. `isEmpty` tells whether a value contains no work.
    ///
    /// A statement that fails on a few of many users is divided within ``patience``; the next call continues.
    func take<Value: Sendable>(
        head: (UserFilter) async throws(PostgresError) -> QueueHead,
        isEmpty: (Value) -> Bool,
        _ take: (UserFilter) async throws(PostgresError) -> Value
    ) async throws(PostgresError) -> Taken<Value> {
        let now = time.steady()
        let (everyone, hadSuspects) = state.withLock { state in
            state.leftOut = state.leftOut.filter { $0.value > now }
            return (UserFilter.all(except: state.excluded), !state.suspects.isEmpty)
        }
        var values: [Value] = []
        var failure: PostgresError?
        do throws(PostgresError) {
            let value = try await take(everyone)
            guard hadSuspects else { return .whole(value) }
            values.append(value)
        } catch {
            guard error.mayBeAboutOneItem || error.refusesContent else { throw error }
            let suspects = try await head(everyone)
            guard !suspects.users.isEmpty else { throw error }
            suspect([suspects])
            failure = error
        }
        failure = await divide(&values, isEmpty, take) ?? failure
        if let failure, values.allSatisfy(isEmpty) { throw failure }
        return .parts(values)
    }

    /// Repeats the statement for parts of the suspects, and returns the last failure.
    private func divide<Value: Sendable>(
        _ values: inout [Value],
        _ isEmpty: (Value) -> Bool,
        _ take: (UserFilter) async throws(PostgresError) -> Value
    ) async -> PostgresError? {
        let end = time.steady() + Self.patience
        var failing: [(head: QueueHead, error: PostgresError)] = []
        var (failure, failuresInVain): (PostgresError?, Int) = (nil, 0)
        while failuresInVain <= Self.mostFailuresInVain, let part = nextSuspects() {
            do throws(PostgresError) {
                values.append(try await take(.only(part.users, until: part.until)))
                failuresInVain = 0
            } catch {
                (failure, failuresInVain) = (error, failuresInVain + 1)
                guard error.mayBeAboutOneItem || error.refusesContent else {
                    suspect([part])
                    break
                }
                if part.users.count == 1 { failing.append((part, error)) } else { suspect(part.halves) }
            }
            guard time.steady() < end else { break }
        }
        // The server may fail on everyone: then the suspects are tried again by the next call.
        let isProven = !values.allSatisfy(isEmpty)
        for (head, error) in failing where !isProven || !leaveOut(head.users[0], because: error) { suspect([head]) }
        return failure
    }

    private func nextSuspects() -> QueueHead? {
        state.withLock { $0.suspects.isEmpty ? nil : $0.suspects.removeFirst() }
    }

    private func suspect(_ parts: [QueueHead]) {
        state.withLock { state in
            state.suspects += parts
            if state.suspects.reduce(0, { $0 + $1.users.count }) > Self.mostSuspects { state.suspects = [] }
        }
    }

    /// Leaves a user out for a minute; `false` if too many are left out.
    private func leaveOut(_ user: Int64, because error: PostgresError) -> Bool {
        let until = time.steady() + Self.pause
        let isNoted = state.withLock { state in
            guard state.leftOut.count < Self.mostLeftOut else { return false }
            state.leftOut[user] = until
            return true
        }
        guard isNoted else { return false }
        setAside.count(label)
        logger.warning(
            "the database fails on one user's rows, leaving them out for a minute",
            ["of": .text(label), "person": .integer(Int(user)), "error": .error(error)]
        )
        return true
    }

    private static let pause = Duration.seconds(60)
    private static let mostLeftOut = 100
    private static let mostSuspects = 4_000
    private static let mostFailuresInVain = 12
    /// The time for which a call divides, unless a single statement takes longer.
    private static let patience = Duration.seconds(5)
}

extension QueueHead {
    fileprivate var halves: [QueueHead] {
        let middle = users.count / 2
        return [users[..<middle], users[middle...]].map { QueueHead(users: Array($0), until: until) }
    }
}

extension DueItems {
    /// Creates the result of a poll from its parts.
    ///
    /// After a division, it is unknown what remains.
    init(_ taken: FailingUsers.Taken<DueItems<Item>>) {
        switch taken {
        case .whole(let items): self = items
        case .parts(let parts): self.init(parts)
        }
    }
}
