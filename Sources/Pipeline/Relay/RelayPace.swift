import AMQP
import ServiceRuntime

/// The number of rows that a relay takes together, and the rows that it leaves out.
///
/// A message that the broker never accepts, such as one with a routing key that the log-in may not use, makes it close
/// the channel and loses the confirms of the others in its batch. After a failure a relay therefore takes one row at a
/// time, and twice as many after each success. A row that fails alone three times is set aside for ten minutes.
struct RelayPace {
    private(set) var rows = usual
    private var failures = 0
    private var setAside: [Int64: Instant] = [:]

    /// The number of rows without failures, which is the publisher's window.
    static let usual = 1_000
    /// The limit of the bodies of one batch.
    static let bytes = 4 << 20
    /// The number of failures of a row alone after which it is set aside.
    static let attempts = 3
    /// The time for which a row is set aside.
    static let rest = Duration.seconds(600)
    /// The limit of rows that are set aside; beyond it the oldest one returns.
    static let mostSetAside = 1_000

    /// Returns the rows that are left out at this time.
    mutating func aside(at now: Instant) -> [Int64] {
        setAside = setAside.filter { $0.value > now }
        return setAside.keys.sorted()
    }

    var asideCount: Int { setAside.count }

    /// Notes that every message of a batch was confirmed.
    mutating func succeed() {
        failures = 0
        rows = min(Self.usual, rows * 2)
    }

    /// Notes the first failure of a batch.
    ///
    /// Returns the row that is set aside because of it, or `nil`. A broker that is unavailable is not a failure of the
    /// row, and neither is a full queue or a missing exchange.
    mutating func fail(_ row: Int64, _ outcome: PublishOutcome, isAlone: Bool, isConnected: Bool, at now: Instant)
        -> Int64?
    {
        switch outcome {
        case .confirmed, .refused, .unroutable: return nil
        case .notSent, .unknown, .unwritable, .tooLarge: break
        }
        guard isAlone else {
            rows = 1
            failures = 0
            return nil
        }
        guard isConnected else { return nil }
        failures += 1
        guard failures >= Self.attempts else { return nil }
        failures = 0
        if setAside.count >= Self.mostSetAside, let oldest = setAside.min(by: { $0.value < $1.value }) {
            setAside[oldest.key] = nil
        }
        setAside[row] = now + Self.rest
        return row
    }
}
