import CRabbitMQ
import Glibc

/// One connection to one node: librabbitmq's handle, logged in, with a socket of its own.
///
/// Confined to the thread that made it: librabbitmq has no locks, and aborts the process when two threads meet in its
/// heartbeats. After an error other than a closed channel it is good for nothing but being released.
final class Connection {
    /// What it is made for; the broker's interface shows the name.
    enum Purpose {
        /// Sends nothing bigger than a declaration, and must take what others sent.
        case receiving
        case publishing
    }

    /// The size of frames that both sides agree on at most.
    ///
    /// RabbitMQ 4.1 and later refuses clients that ask for little.
    static let frameSize: Int32 = 131_072

    /// Large on purpose: librabbitmq decodes nested tables by recursion, as deep as the sender likes (a header of 128 KiB
    /// holds 26,000 levels), before anybody can look at them.
    ///
    /// Only pages that are touched take memory.
    static let stackSize = 64 << 20

    let host: BrokerAddress.Host
    let state: amqp_connection_state_t
    let arena = WireArena()

    /// The socket, for `poll` alone.
    var descriptor: Int32 { amqp_get_sockfd(state) }

    /// The agreed heartbeat in seconds.
    var heartbeat: Int32 { amqp_get_heartbeat(state) }

    /// The agreed frame size: what one header must fit in.
    let agreedFrameSize: Int

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
    }

    deinit {
        amqp_destroy_connection(state)
        frame.deallocate()
    }

    /// The next frame, or `nil` if none is there now; `milliseconds` waits for one.
    ///
    /// Serves heartbeats on the way.
    ///
    /// The frame is valid until the next call into the connection. A `nil` without waiting means that neither the
    /// socket nor TLS holds anything more, so that polling the socket is exact.
    func nextFrame(waiting milliseconds: Int = 0) throws(AMQPError) -> UnsafePointer<amqp_frame_t>? {
        var timeout = timeval(tv_sec: milliseconds / 1000, tv_usec: (milliseconds % 1000) * 1000)
        let status = amqp_simple_wait_frame_noblock(state, frame, &timeout)
        if status == AMQP_STATUS_OK.rawValue { return UnsafePointer(frame) }
        if status == AMQP_STATUS_TIMEOUT.rawValue { return nil }
        throw failure(status, "read from the broker")
    }

    /// Whether the library keeps frames that came while a call waited for its answer; `nextFrame` gives those first.
    var holdsFrames: Bool { amqp_frames_enqueued(state) != 0 }

    /// Gives back the memory of frames that have been dealt with.
    ///
    /// Nothing read before is valid afterwards. Where the library has read part of a frame, or keeps some for later, it
    /// gives back nothing.
    func releaseFrames() {
        amqp_maybe_release_buffers(state)
    }

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

    /// The error for a status of the library.
    func failure(_ status: Int32, _ what: String) -> AMQPError {
        BrokerLogin.failure(status, "cannot \(what)", host)
    }

    /// Says goodbye and waits up to `milliseconds` for the answer, which also tells that the broker has taken in all
    /// that was sent before.
    func close(waiting milliseconds: Int) {
        setCallTimeout(milliseconds)
        _ = amqp_connection_close(state, AMQP_REPLY_SUCCESS)
    }

    /// Ends the sending side and throws away what still comes in, for a second at most: closing a socket with unread
    /// bytes would make the other side forget what it was sent last.
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

    /// How long a call that waits for its answer may take; the connection is lost when it takes longer.
    func setCallTimeout(_ milliseconds: Int) {
        var timeout = timeval(tv_sec: milliseconds / 1000, tv_usec: (milliseconds % 1000) * 1000)
        amqp_set_rpc_timeout(state, &timeout)
    }
}
