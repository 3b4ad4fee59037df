import Store
import Synchronization

/// Runs the changes of one user one after the other, in the order in which they came.
///
/// The database makes them wait for one another anyway, but each on a connection. Here they wait without one, so that a few
/// users cannot hold every connection of the process. `CallsUnderWay` limits how many of a user wait.
final class ChangeTurns: Sendable {
    /// Those who wait, for each user who has a change running.
    private let waiting = Mutex<[RecipientKey: [CheckedContinuation<Void, Never>]]>([:])

    func run<Value>(_ reader: RecipientKey, _ change: () async throws -> Value) async throws -> Value {
        await begin(reader)
        defer { end(reader) }
        return try await change()
    }

    private func begin(_ reader: RecipientKey) async {
        await withCheckedContinuation { turn in
            let isFirst = waiting.withLock { waiting in
                guard waiting[reader] != nil else {
                    waiting[reader] = []
                    return true
                }
                waiting[reader]?.append(turn)
                return false
            }
            if isFirst { turn.resume() }
        }
    }

    private func end(_ reader: RecipientKey) {
        let next = waiting.withLock { waiting -> CheckedContinuation<Void, Never>? in
            guard let queue = waiting[reader], !queue.isEmpty else {
                waiting[reader] = nil
                return nil
            }
            return waiting[reader]?.removeFirst()
        }
        next?.resume()
    }
}
