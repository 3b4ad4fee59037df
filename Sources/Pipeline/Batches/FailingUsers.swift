import Postgres
import ServiceRuntime
import Store
import Synchronization

/// The users on whose rows the server fails when a duty takes work of many users with one statement.
///
/// Such a statement names no users, so it cannot be divided by its parameters. If the server fails on it, the users at
/// the head of the queue are read and the statement is repeated for parts of them. A user for whom it fails alone is
/// left out for a minute, so that the others are not delayed.
///
/// Thread safety: the users are behind a lock.
final class FailingUsers: Sendable {
    /// The value of one statement, or the values of its parts.
    enum Taken<Value: Sendable>: Sendable {
        case whole(Value)
        case parts([Value])

        var values: [Value] {
            switch self {
            case .whole(let value): [value]
            case .parts(let values): values
            }
        }
    }

    /// What is taken, for the log.
    private let label: String
    private let logger: Logger
    private let setAside: SetAsideMetrics
    private let time: any TimeSource
    private let leftOut = Mutex<[Int64: ContinuousClock.Instant]>([:])

    init(taking label: String, time: any TimeSource, logger: Logger, metrics: SetAsideMetrics) {
        self.label = label
        self.time = time
        self.logger = logger
        setAside = metrics
    }

    /// Takes work of all users except those who are left out; if the server fails on that, of as many as possible.
    ///
    /// `candidates` returns the users whose work the statement would take. If an error that concerns no user ends the
    /// division, the parts taken before it are returned.
    func take<Value: Sendable>(
        candidates: (UserFilter) async throws(PostgresError) -> [Int64],
        _ take: (UserFilter) async throws(PostgresError) -> Value
    ) async throws(PostgresError) -> Taken<Value> {
        let everyone = UserFilter.all(except: current)
        do throws(PostgresError) {
            return .whole(try await take(everyone))
        } catch {
            guard error.mayBeAboutOneItem || error.refusesContent else { throw error }
            return .parts(try await divide(try await candidates(everyone), after: error, take))
        }
    }

    private func divide<Value: Sendable>(
        _ users: [Int64],
        after failure: PostgresError,
        _ take: (UserFilter) async throws(PostgresError) -> Value
    ) async throws(PostgresError) -> [Value] {
        var (values, failure, failures): ([Value], PostgresError, Int) = ([], failure, 0)
        var open = users.isEmpty ? [] : [users]
        // If only failures come, no single user is at fault.
        while !open.isEmpty, failures < Self.mostFailures, !(values.isEmpty && failures > Self.failuresInVain) {
            let part = open.removeFirst()
            do throws(PostgresError) {
                values.append(try await take(.only(part)))
            } catch {
                (failure, failures) = (error, failures + 1)
                guard error.mayBeAboutOneItem || error.refusesContent else { break }
                guard part.count > 1 else {
                    leaveOut(part[0], because: error)
                    continue
                }
                open += [Array(part[..<(part.count / 2)]), Array(part[(part.count / 2)...])]
            }
        }
        guard !values.isEmpty else { throw failure }
        return values
    }

    private var current: [Int64] {
        let now = time.steady()
        return leftOut.withLock { users in
            users = users.filter { $0.value > now }
            return Array(users.keys)
        }
    }

    private func leaveOut(_ user: Int64, because error: PostgresError) {
        let until = time.steady() + Self.pause
        let isNoted = leftOut.withLock { users in
            guard users.count < Self.mostLeftOut else { return false }
            users[user] = until
            return true
        }
        guard isNoted else { return }
        setAside.count(label)
        logger.warning(
            "the database fails on one user's rows, leaving them out for a minute",
            ["of": .text(label), "person": .integer(Int(user)), "error": .error(error)]
        )
    }

    private static let pause = Duration.seconds(60)
    private static let mostLeftOut = 100
    /// Several failing users among a thousand need ten statements each.
    private static let mostFailures = 100
    private static let failuresInVain = 12
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
