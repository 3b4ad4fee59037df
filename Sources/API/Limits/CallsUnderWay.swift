import Store
import Synchronization

/// Lets each user have so many calls under way at once.
///
/// Changes of one user wait for one another (`ChangeTurns`), and a user who sends many at once would have many waiting.
final class CallsUnderWay: Sendable {
    private let most: Int
    private let counts = Mutex<[RecipientKey: Int]>([:])

    init(most: Int = 6) {
        self.most = most
    }

    /// Runs a call; throws where as many are under way.
    func run<Value>(_ reader: RecipientKey, _ call: () async throws -> Value) async throws -> Value {
        let mayRun = counts.withLock { counts in
            guard counts[reader, default: 0] < most else { return false }
            counts[reader, default: 0] += 1
            return true
        }
        guard mayRun else {
            throw CallFault(429, "too-many-requests", "too many concurrent requests for this user")
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
