import AMQP
import ServiceRuntime

/// The number of rows that a relay takes together, and the rows that it leaves out.
///
/// A message that the broker never accepts, such as one with a routing key that the log-in may not use, makes it close
/// the channel and loses the confirms of the others in its batch. After a failure a relay therefore takes one row at a
/// time, and twice as many after each success. A row that the broker refuses alone is set aside for a minute, and for
/// twice as long after each further refusal.
struct RelayPace {
    private struct Refusal {
        var rest: Duration
        var until: Instant
    }

    private var confirmable = usual
    private var fitting = usual
    private var refusals: [Int64: Refusal] = [:]

    /// The number of rows without failures, which is the publisher's window.
    static let usual = 1_000
    /// The limit of the bodies of one batch.
    static let bytes = 4 << 20
    /// The time for which a row is set aside after its first refusal.
    static let firstRest = Duration.seconds(60)
    /// The longest time for which a row is set aside.
    static let longestRest = Duration.seconds(600)
    /// The limit of rows that are set aside; beyond it the row that has rested longest returns.
    static let mostSetAside = 10_000

    /// The number of rows to take.
    var rows: Int { min(confirmable, fitting) }

    /// Returns the rows that are left out at this time, in the order of their ids.
    func aside(at now: Instant) -> [Int64] {
        refusals.filter { $0.value.until > now }.keys.sorted()
    }

    /// The number of rows that were refused and not confirmed since.
    var asideCount: Int { refusals.count }

    /// Notes the size of a batch: the next one asks for about as many rows as fit.
    mutating func took(_ rows: Int, bytes: Int) {
        guard rows > 0 else { return }
        fitting = max(1, min(Self.usual, 2 * rows * Self.bytes / max(bytes, 1)))
    }

    /// Notes that every message of a batch was confirmed.
    mutating func succeed(_ rows: [Int64]) {
        confirmable = min(Self.usual, confirmable * 2)
        guard !refusals.isEmpty else { return }
        for row in rows { refusals[row] = nil }
    }

    /// Notes the first failure of a batch.
    ///
    /// Returns whether the row is set aside because of it. It is not if the outcome is unknown, or if the broker is
    /// unavailable, a queue is full or the exchange is missing.
    mutating func fail(_ row: Int64, _ outcome: PublishOutcome, isAlone: Bool, isConnected: Bool, at now: Instant)
        -> Bool
    {
        switch outcome {
        case .confirmed, .refused, .unroutable: return false
        case .notSent, .unknown, .unwritable, .tooLarge: break
        }
        guard isAlone else {
            confirmable = 1
            return false
        }
        if case .unknown = outcome { return false }
        guard isConnected else { return false }
        if refusals[row] == nil, refusals.count >= Self.mostSetAside,
            let oldest = refusals.min(by: { $0.value.until < $1.value.until })
        {
            refusals[oldest.key] = nil
        }
        let rest = refusals[row].map { min(Self.longestRest, $0.rest * 2) } ?? Self.firstRest
        refusals[row] = Refusal(rest: rest, until: now + rest)
        return true
    }

    /// Forgets refused rows that were tried again and not found: an operator has deleted them.
    mutating func forget(_ rows: some Sequence<Int64>) {
        for row in rows { refusals[row] = nil }
    }

    /// The refused rows whose rest is over.
    func rested(at now: Instant) -> Set<Int64> {
        Set(refusals.filter { $0.value.until <= now }.keys)
    }
}
