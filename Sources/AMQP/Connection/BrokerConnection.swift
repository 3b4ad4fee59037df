import CRabbitMQ
import Glibc

/// One connection to one node: a logged-in handle of librabbitmq with its socket.
///
/// Confined to the thread that created it: librabbitmq has no locks, and aborts the process if two threads meet in its
/// heartbeats. After any error except a closed channel, the connection can only be released.
final class BrokerConnection {
    /// The use of the connection.
    enum Purpose {
        /// Sends nothing larger than a declaration, but must accept large frames of other senders.
        case receiving
        case publishing
    }

    /// The maximum frame size that both sides agree on.
    ///
    /// RabbitMQ 4.1 and later rejects clients that request small frames.
    static let frameSize: Int32 = 131_072

    /// The stack size of a thread that reads from the broker.
    ///
    /// It is deliberately large, because librabbitmq decodes nested tables by recursion to any depth that the sender
    /// chose, before Bellhop can check them. A header of 128 KiB can contain 26,000 levels. Only pages that are touched
    /// take memory.
    static let stackSize = 64 << 20

    let host: BrokerAddress.Host
    let state: amqp_connection_state_t
    let arena = WireArena()

    /// The socket, only for use with `poll`.
    var descriptor: Int32 { amqp_get_sockfd(state) }

    /// The agreed heartbeat in seconds.
    var heartbeat: Int32 { amqp_get_heartbeat(state) }

    /// The agreed frame size in bytes, which limits the size of one header.
    let agreedFrameSize: Int

    private let isTLS: Bool
    private let frame = UnsafeMutablePointer<amqp_frame_t>.allocate(capacity: 1)

    init(
        to address: BrokerAddress,
        _ host: BrokerAddress.Host,
        name: String,
        _ purpose: Purpose
    ) throws(AMQPError) {
        guard let state = amqp_new_connection() else {
            throw AMQPError(.unreachable, "no memory for a connection to the broker")
        }
        do throws(AMQPError) {
            let login = BrokerLogin(state: state, address: address, host: host, arena: arena)
            try login.openSocket()
            try login.authenticate(as: name)
            agreedFrameSize = Int(amqp_get_frame_max(state))
            if purpose == .receiving { try login.acceptGrownHeaders() }
        } catch {
            amqp_destroy_connection(state)
            frame.deallocate()
            throw error
        }
        self.host = host
        self.state = state
        isTLS = address.tls != nil
    }

    deinit {
        amqp_destroy_connection(state)
        frame.deallocate()
    }

    /// Returns the next frame, or `nil` if none is available within `milliseconds`.
    ///
    /// The call also serves heartbeats. The frame is valid until the next call into the connection. A `nil` without
    /// waiting means that neither the socket nor TLS holds further data, so that polling the socket is exact.
    func nextFrame(waiting milliseconds: Int = 0) throws(AMQPError) -> UnsafePointer<amqp_frame_t>? {
        var timeout = timeval(tv_sec: milliseconds / 1000, tv_usec: (milliseconds % 1000) * 1000)
        let status = amqp_simple_wait_frame_noblock(state, frame, &timeout)
        if status == AMQP_STATUS_OK.rawValue { return UnsafePointer(frame) }
        if status == AMQP_STATUS_TIMEOUT.rawValue { return nil }
        throw failure(status, "read from the broker")
    }

    /// Whether the library keeps frames that arrived while a call waited for its answer.
    ///
    /// `nextFrame` returns those frames first.
    var holdsFrames: Bool { amqp_frames_enqueued(state) != 0 }

    /// Whether no byte is known that was read and not yet returned as a frame, so that polling the socket is exact.
    ///
    /// Under TLS this is unknown: only an attempt to read shows what OpenSSL still holds.
    var isDrained: Bool { !isTLS && amqp_data_in_buffer(state) == 0 && !holdsFrames }

    /// Releases the memory of processed frames.
    ///
    /// No earlier frame is valid afterwards. If the library has read part of a frame or keeps some frames for later, it
    /// releases nothing.
    func releaseFrames() { amqp_maybe_release_buffers(state) }

    /// Sends a method without waiting for an answer.
    func send<Method>(
        _ id: amqp_method_number_t,
        channel: UInt16,
        _ method: Method,
        _ what: @autoclosure () -> String
    ) throws(AMQPError) {
        var method = method
        let status = withUnsafeMutablePointer(to: &method) { amqp_send_method(state, channel, id, $0) }
        guard status == AMQP_STATUS_OK.rawValue else { throw failure(status, what()) }
    }

    /// Returns the error for a status of the library.
    func failure(_ status: Int32, _ what: String) -> AMQPError {
        BrokerLogin.failure(status, "cannot \(what)", host)
    }

    /// Closes the connection in order and waits up to `milliseconds` for the answer.
    ///
    /// The answer also confirms that the broker has processed everything that was sent before.
    func close(waiting milliseconds: Int) {
        setCallTimeout(milliseconds)
        _ = amqp_connection_close(state, AMQP_REPLY_SUCCESS)
    }

    /// Ends the sending side and discards further input for at most one second.
    ///
    /// If a socket with unread bytes were closed, the other side would lose the data that it received last.
    func hangUp() {
        shutdown(descriptor, Int32(SHUT_WR))
        var room = [UInt8](repeating: 0, count: 1 << 16)
        let end = ContinuousClock.now + .seconds(1)
        while ContinuousClock.now < end {
            let got = recv(descriptor, &room, room.count, Int32(MSG_DONTWAIT))
            if got > 0 { continue }
            guard got < 0, errno == EAGAIN else { return }
            var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            poll(&polled, 1, 100)
        }
    }

    /// Sets the time limit for a call that waits for its answer.
    ///
    /// The connection is lost if the call takes longer.
    func setCallTimeout(_ milliseconds: Int) {
        var timeout = timeval(tv_sec: milliseconds / 1000, tv_usec: (milliseconds % 1000) * 1000)
        amqp_set_rpc_timeout(state, &timeout)
    }
}

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
    mutating func served() { latestService = .now }

    /// Sends a heartbeat directly while nothing may be read, because the library would read first.
    mutating func beat(_ connection: BrokerConnection) throws(AMQPError) {
        guard isDue else { return }
        served()
        var frame = amqp_frame_t()
        frame.frame_type = UInt8(AMQP_FRAME_HEARTBEAT)
        let status = amqp_send_frame(connection.state, &frame)
        guard status == AMQP_STATUS_OK.rawValue else { throw connection.failure(status, "send a heartbeat") }
    }
}
