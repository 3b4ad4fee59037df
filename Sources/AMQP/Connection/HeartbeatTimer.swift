import CRabbitMQ

/// Ensures that heartbeats are served on time, because librabbitmq serves them only inside its calls.
struct HeartbeatTimer {
    /// The longest sleep between two checks of the connection.
    let interval: Duration

    private var latestService = ContinuousClock.now

    init(heartbeat: Int32) {
        interval = min(.seconds(5), max(.milliseconds(100), .milliseconds(Int(heartbeat) * 250)))
    }

    /// Whether the library must be called although nothing has arrived.
    var isDue: Bool { latestService.duration(to: .now) >= interval }

    /// Records that the library has been called.
    mutating func served() {
        latestService = .now
    }

    /// Sends a heartbeat directly while nothing may be read, because the library would read first.
    mutating func beat(_ connection: Connection) throws(AMQPError) {
        guard isDue else { return }
        served()
        var frame = amqp_frame_t()
        frame.frame_type = UInt8(AMQP_FRAME_HEARTBEAT)
        let status = amqp_send_frame(connection.state, &frame)
        guard status == AMQP_STATUS_OK.rawValue else { throw connection.failure(status, "send a heartbeat") }
    }
}
