import CRabbitMQ
import Glibc

/// The steps from a new handle to a logged-in connection.
struct BrokerLogin {
    let state: amqp_connection_state_t
    let address: BrokerAddress
    let host: BrokerAddress.Host
    let arena: WireArena

    /// The time limit for the broker's answer to a call.
    private static let callTimeoutMilliseconds = 15_000

    func openSocket() throws(AMQPError) {
        let socket = try makeSocket()
        var timeout = interval(address.connectionTimeoutMilliseconds)
        let status = amqp_socket_open_noblock(socket, host.name, Int32(host.port), &timeout)
        guard status == AMQP_STATUS_OK.rawValue else { throw Self.failure(status, "cannot connect", host) }
        amqp_set_handshake_timeout(state, &timeout)
        var callTimeout = interval(Self.callTimeoutMilliseconds)
        amqp_set_rpc_timeout(state, &callTimeout)
    }

    /// Logs in.
    ///
    /// Operators see `name` in the list of connections.
    func authenticate(as name: String) throws(AMQPError) {
        var writer = FieldTableEncoder(arena)
        var properties = try writer.table(Self.clientProperties(name))
        let reply = bellhop_amqp_login_plain(
            state,
            address.virtualHost,
            BrokerConnection.frameSize,
            address.heartbeat,
            &properties,
            address.user,
            address.password
        )
        defer { arena.recycle() }
        let attempt = "cannot log in as \(address.user) to virtual host \(address.virtualHost)"
        switch reply.reply_type {
        case AMQP_RESPONSE_NORMAL: return
        case AMQP_RESPONSE_SERVER_EXCEPTION:
            throw BrokerRefusal(reply.reply).error("\(attempt) on \(host)")
        default: throw Self.failure(reply.library_error, attempt, host)
        }
    }

    /// Allows received frames of twice the agreed size.
    ///
    /// A broker adds headers to a message in transit (`x-death`, `x-delivery-count`) and sends all of them in one
    /// frame, even if that exceeds the agreed size. Such a frame is harmless, because this side sends no large frames.
    /// If it were rejected, each connection that receives the message would end.
    func acceptGrownHeaders() throws(AMQPError) {
        let size = max(amqp_get_frame_max(state), BrokerConnection.frameSize) * 2
        let status = amqp_tune_connection(state, amqp_get_channel_max(state), size, amqp_get_heartbeat(state))
        guard status == AMQP_STATUS_OK.rawValue else { throw Self.failure(status, "cannot make room", host) }
    }

    /// The capabilities and names that the client announces.
    ///
    /// By default, librabbitmq announces only two capabilities; without the others, the broker never reports an alarm
    /// or a deleted queue.
    private static func clientProperties(_ name: String) -> FieldTable {
        let capabilities: FieldTable = [
            "connection.blocked": true,
            "consumer_cancel_notify": true,
            "basic.nack": true,
            "publisher_confirms": true,
            "authentication_failure_close": true,
        ]
        return ["product": "Bellhop", "connection_name": .string(name), "capabilities": .table(capabilities)]
    }

    private func makeSocket() throws(AMQPError) -> OpaquePointer {
        guard let files = address.tls else {
            guard let socket = amqp_tcp_socket_new(state) else { throw Self.noSocket }
            return socket
        }
        guard let socket = amqp_ssl_socket_new(state) else { throw Self.noSocket }
        try prepare(socket, files)
        return socket
    }

    private func prepare(_ socket: OpaquePointer, _ files: BrokerAddress.TLSFiles) throws(AMQPError) {
        let isAddress = Self.isAddress(host.name) ? Int32(1) : 0
        let usesSystem = files.authorities == nil ? Int32(1) : 0
        guard bellhop_amqp_tls_harden(socket, host.name, isAddress, usesSystem) == 1 else {
            throw Self.tlsFault("cannot set up TLS for \(host)")
        }
        if let authorities = files.authorities {
            guard amqp_ssl_socket_set_cacert(socket, authorities) == AMQP_STATUS_OK.rawValue else {
                throw Self.tlsFault("cannot read the authorities in \(authorities)")
            }
        }
        if let certificate = files.certificate, let key = files.key {
            guard amqp_ssl_socket_set_key(socket, certificate, key) == AMQP_STATUS_OK.rawValue else {
                throw Self.tlsFault("cannot use the certificate \(certificate) with the key \(key)")
            }
        }
    }

    private static func isAddress(_ name: String) -> Bool {
        var room = in6_addr()
        return inet_pton(AF_INET, name, &room) == 1 || inet_pton(AF_INET6, name, &room) == 1
    }

    private static var noSocket: AMQPError { AMQPError(.unreachable, "no memory for a socket to the broker") }

    private static func tlsFault(_ attempt: String) -> AMQPError {
        let reason = bellhop_amqp_tls_reason().map { String(cString: $0) } ?? "OpenSSL gives no reason"
        return AMQPError(.tls, "\(attempt): \(reason)")
    }

    private func interval(_ milliseconds: Int) -> timeval {
        timeval(tv_sec: milliseconds / 1000, tv_usec: (milliseconds % 1000) * 1000)
    }

    /// Returns the error for a status of the library.
    static func failure(_ status: Int32, _ attempt: String, _ host: BrokerAddress.Host) -> AMQPError {
        let text = String(cString: amqp_error_string2(status))
        switch amqp_status_enum(rawValue: status) {
        case AMQP_STATUS_SSL_ERROR, AMQP_STATUS_SSL_CONNECTION_FAILED, AMQP_STATUS_SSL_PEER_VERIFY_FAILED,
            AMQP_STATUS_SSL_HOSTNAME_VERIFY_FAILED:
            return tlsFault("\(attempt) (\(host)): \(text)")
        case AMQP_STATUS_HOSTNAME_RESOLUTION_FAILED:
            return AMQPError(.unreachable, "\(attempt): the host name \(host.name) is not known")
        case AMQP_STATUS_TIMEOUT: return AMQPError(.timedOut, "\(attempt): \(host) did not answer in time")
        case AMQP_STATUS_HEARTBEAT_TIMEOUT:
            return AMQPError(.connectionLost, "\(attempt): \(host) has shown no sign of life for two heartbeats")
        case AMQP_STATUS_BAD_AMQP_DATA, AMQP_STATUS_UNKNOWN_CLASS, AMQP_STATUS_UNKNOWN_METHOD,
            AMQP_STATUS_INCOMPATIBLE_AMQP_VERSION, AMQP_STATUS_WRONG_METHOD, AMQP_STATUS_UNEXPECTED_STATE:
            return AMQPError(.protocolViolation, "\(attempt) (\(host)): \(text)")
        case AMQP_STATUS_TABLE_TOO_BIG, AMQP_STATUS_INVALID_PARAMETER:
            return AMQPError(.invalidArgument, "\(attempt): \(text)")
        case AMQP_STATUS_SOCKET_ERROR where attempt.hasPrefix("cannot connect"), AMQP_STATUS_TCP_ERROR:
            return AMQPError(.unreachable, "\(attempt): \(host) refuses connections or is not reachable")
        default: return AMQPError(.connectionLost, "\(attempt) (\(host)): \(text)")
        }
    }
}
