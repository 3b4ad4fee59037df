import CRabbitMQ
import ServiceRuntime

/// Tells the broker what is settled on one channel: at once where one frame speaks for many, a moment later where each
/// message needs a frame of its own.
///
/// The moment pays: while several batches are being worked on they end in any order, and a quorum queue takes single
/// settlements slowly, 32 at a time.
struct SettlementDesk {
    /// How long a settlement beyond the frontier waits for the frontier to reach it.
    private static let patience = Duration.milliseconds(50)
    /// So many frames shortly before the end need a pause.
    private static let burst = 16
    private static let settlingTime = Duration.milliseconds(250)

    let epoch = DeliveryTag.nextEpoch()
    private let channel: UInt16
    /// Singles do not wait when they hold so much of a prefetch that deliveries could stop.
    private let waitingLimit: Int
    private var ledger = SettlementLedger()
    private var waitingSince: ContinuousClock.Instant?
    private var latestFrame = ContinuousClock.now
    private var recentFrames = 0

    init(channel: UInt16, prefetch: Int) {
        self.channel = channel
        waitingLimit = prefetch / 2
    }

    /// How long until settlements that wait must go out.
    var untilDue: Duration {
        waitingSince.map { max(.zero, ContinuousClock.now.duration(to: $0 + Self.patience)) } ?? .seconds(60)
    }

    /// Whether nothing is unsettled.
    var isEmpty: Bool { ledger.isEmpty }

    /// Notes a delivery; `false` if its number is not the next one.
    mutating func deliver(_ number: UInt64) -> Bool { ledger.deliver(number) }

    /// Takes in what users have settled, as far as it belongs to this channel, and sends what is due.
    mutating func settle(_ work: ConsumerInbox.Work, on connection: Connection) throws(AMQPError) {
        for tag in work.acknowledged where tag.epoch == epoch { ledger.settle(tag.number, .acknowledged) }
        for tag in work.released where tag.epoch == epoch { ledger.settle(tag.number, .released) }
        guard ledger.waiting > 0 else { return }
        try send(ledger.takeRuns(), on: connection)
        guard ledger.waiting > 0 else { return waitingSince = nil }
        waitingSince = waitingSince ?? .now
        guard ledger.waiting > waitingLimit || untilDue == .zero else { return }
        try send(ledger.takeSingles(), on: connection)
        waitingSince = nil
    }

    /// Sends what waits, and releases what nobody settled, which newer brokers count less than a lost connection.
    ///
    /// A quorum queue's client inside the broker keeps settlements back while 32 are under way, and forgets them with
    /// the channel; after a burst the queue gets time to take them in.
    mutating func farewell(on connection: Connection, _ waker: Waker) throws(AMQPError) {
        ledger.releaseHeld()
        try send(ledger.takeRuns(), on: connection)
        let isBusy = recentFrames > Self.burst && latestFrame.duration(to: .now) < Self.settlingTime
        let end = latestFrame + Self.settlingTime
        while isBusy, ContinuousClock.now < end {
            waker.sleep(for: ContinuousClock.now.duration(to: end))
        }
    }

    private mutating func send(_ orders: [SettlementLedger.Order], on connection: Connection) throws(AMQPError) {
        guard !orders.isEmpty else { return }
        let now = ContinuousClock.now
        recentFrames = latestFrame.duration(to: now) < Self.settlingTime ? recentFrames + orders.count : orders.count
        latestFrame = now
        for order in orders {
            let multiple: amqp_boolean_t = order.multiple ? 1 : 0
            switch order.verdict {
            case .acknowledged:
                let ack = amqp_basic_ack_t(delivery_tag: order.number, multiple: multiple)
                try connection.send(AMQP_BASIC_ACK_METHOD, channel: channel, ack, "acknowledge messages")
            case .released:
                let nack = amqp_basic_nack_t(delivery_tag: order.number, multiple: multiple, requeue: 1)
                try connection.send(AMQP_BASIC_NACK_METHOD, channel: channel, nack, "release messages")
            }
        }
    }
}
