import Store
import Synchronization

/// Runs each user's changes in turn, in the order of their arrival.
///
/// The database would serialise them as well, but each would occupy a connection while it waits. Here they wait without
/// one, so that a few users cannot occupy all connections of the process. `ConcurrentRequestLimiter` limits the number
/// of waiting changes per user.
final class ChangeTurns: Sendable {
    /// The waiting changes of each user who has a running one.
    private let waiting = Mutex<[UserKey: [CheckedContinuation<Void, Never>]]>([:])

    func run<Value>(_ reader: UserKey, _ change: () async throws -> Value) async throws -> Value {
        await begin(reader)
        defer { end(reader) }
        return try await change()
    }

    private func begin(_ reader: UserKey) async {
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

    private func end(_ reader: UserKey) {
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
