import ServiceRuntime
import Synchronization

/// Confirmed dead letters that no line of the log contains yet, by reason.
///
/// A producer with a defect causes thousands of them, each perhaps in a separate batch. One line per batch would hide
/// all other lines.
final class DeadLetterTally: Sendable {
    private let counts = Mutex<[String: Int]>([:])

    func add(_ reasons: [String]) {
        counts.withLock { counts in
            for reason in reasons { counts[reason, default: 0] += 1 }
        }
    }

    /// Returns the fields for the log since the last call; `nil` if there were no dead letters.
    func takeFields() -> LogFields? {
        let taken = counts.withLock { counts in
            defer { counts = [:] }
            return counts.sorted { $0.key < $1.key }
        }
        guard !taken.isEmpty else { return nil }
        return [
            "dead": .integer(taken.map(\.value).reduce(0, +)),
            "reasons": .text(taken.map { "\($0.key):\($0.value)" }.joined(separator: ",")),
        ]
    }
}
