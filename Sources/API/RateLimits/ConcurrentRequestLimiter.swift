import Store
import Synchronization

/// Limits the concurrent calls of each user.
///
/// A user's changes run in turn (`ChangeTurns`), so many concurrent calls would only fill the queue.
final class ConcurrentRequestLimiter: Sendable {
    private let most: Int
    private let counts = Mutex<[UserKey: Int]>([:])

    init(most: Int = 6) { self.most = most }

    /// Runs a call.
    ///
    /// Throws if the user's limit is reached.
    func run<Value>(_ reader: UserKey, _ call: () async throws -> Value) async throws -> Value {
        let mayRun = counts.withLock { counts in
            guard counts[reader, default: 0] < most else { return false }
            counts[reader, default: 0] += 1
            return true
        }
        guard mayRun else {
            throw APIError(429, "too-many-requests", "too many concurrent requests for this user")
                .with("Retry-After", "1")
        }
        defer {
            counts.withLock { counts in
                let count = (counts[reader] ?? 1) - 1
                counts[reader] = count > 0 ? count : nil
            }
        }
        return try await call()
    }
}
