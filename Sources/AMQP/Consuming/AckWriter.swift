import CRabbitMQ
import ServiceRuntime

/// Sends the settlements of one channel to the broker.
///
/// A frame that settles many messages is sent immediately; a message that needs a separate frame waits for a moment.
///
/// The wait reduces the number of frames: concurrent batches end in any order, and a quorum queue processes single
/// settlements slowly, 32 at a time.
struct AckWriter {
    /// The time for which a settlement beyond the frontier waits for the frontier to reach it.
    ///
    /// It is longer than a batch usually takes, so that the frontier passes most settlements in time.
    private static let patience = Duration.milliseconds(250)
    /// The number of recent frames above which the end needs a pause.
    private static let burst = 16
    private static let settlingTime = Duration.milliseconds(250)

    let epoch = DeliveryTag.nextEpoch()
    private let channel: UInt16
    /// The number of waiting singles above which they are sent without delay, because they occupy half of a prefetch
    /// and could stop deliveries.
    private let waitingLimit: Int
    private var ledger = AckTracker()
    private var waitingSince: ContinuousClock.Instant?
    private var latestFrame = ContinuousClock.now
    private var recentFrames = 0

    init(channel: UInt16, prefetch: Int) {
        self.channel = channel
        waitingLimit = prefetch / 2
    }

    /// The time until waiting settlements must be sent.
    var untilDue: Duration {
        waitingSince.map { max(.zero, ContinuousClock.now.duration(to: $0 + Self.patience)) } ?? .seconds(60)
    }

    /// Whether every delivery is settled.
    var isEmpty: Bool { ledger.isEmpty }

    /// Records a delivery; returns `false` if its number is not the next one.
    mutating func deliver(_ number: UInt64) -> Bool { ledger.deliver(number) }

    /// Accepts settlements that belong to this channel, and sends the due ones.
    mutating func settle(_ work: ConsumerInbox.Work, on connection: BrokerConnection) throws(AMQPError) {
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

    /// Sends waiting settlements and releases all unsettled messages.
    ///
    /// Newer brokers count a release less than a lost connection.
    ///
    /// A quorum queue's client inside the broker delays settlements while 32 are in flight, and drops them with the
    /// channel. After a burst, the queue therefore gets time to process them.
    mutating func farewell(on connection: BrokerConnection, _ waker: Waker) throws(AMQPError) {
        ledger.releaseHeld()
        try send(ledger.takeRuns(), on: connection)
        let isBusy = recentFrames > Self.burst && latestFrame.duration(to: .now) < Self.settlingTime
        let end = latestFrame + Self.settlingTime
        while isBusy, ContinuousClock.now < end {
            waker.sleep(for: ContinuousClock.now.duration(to: end))
        }
    }

    private mutating func send(_ orders: [AckTracker.AckFrame], on connection: BrokerConnection) throws(AMQPError) {
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
