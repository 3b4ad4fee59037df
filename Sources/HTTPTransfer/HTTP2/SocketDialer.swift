import Glibc

/// Connects a socket to the first of several addresses that answers, without blocking.
///
/// Confined to the loop's thread. The remaining time is divided evenly among the remaining addresses.
final class SocketDialer {
    enum Progress {
        case pending
        case connected(OwnedSocket)
        case failed(ConnectionFailure)
    }

    private var addresses: ArraySlice<SocketAddress>
    private let deadline: ContinuousClock.Instant
    private var socket: OwnedSocket?
    private var lastWords = "no address"

    /// The time at which the current address has used up its share.
    private(set) var attemptDeadline: ContinuousClock.Instant

    /// Returns `nil` if the policy forbids every address; `deadline` applies to the whole connection.
    init?(_ addresses: [SocketAddress], policy: AddressPolicy, deadline: ContinuousClock.Instant) {
        let allowed = addresses.filter { policy == .any || $0.internetAddress.map(policy.allows) == true }
        guard !allowed.isEmpty else { return nil }
        self.addresses = allowed[...]
        self.deadline = deadline
        attemptDeadline = deadline
    }

    /// The event to wait for during an attempt.
    var interest: pollfd? { socket.map { pollfd(fd: $0.descriptor, events: Int16(POLLOUT), revents: 0) } }

    /// Continues the attempt; called when the socket is writable and when the attempt's time is over.
    func advance(now: ContinuousClock.Instant) -> Progress {
        if let socket {
            switch Self.state(of: socket) {
            case 0: return .connected(socket)
            case EINPROGRESS where now < attemptDeadline: return .pending
            case EINPROGRESS: lastWords = "no answer in time"
            case let code: lastWords = String(cString: strerror(code))
            }
            self.socket = nil
        }
        while let address = addresses.popFirst() {
            guard now < deadline else { break }
            guard let socket = PeerSocket.open(family: address.family).map(OwnedSocket.init) else {
                lastWords = String(cString: strerror(errno))
                continue
            }
            let result = address.withPointer { connect(socket.descriptor, $0, $1) } ?? -1
            if result == 0 { return .connected(socket) }
            guard errno == EINPROGRESS else {
                lastWords = String(cString: strerror(errno))
                continue
            }
            self.socket = socket
            attemptDeadline = now + (deadline - now) / (addresses.count + 1)
            return .pending
        }
        return .failed(ConnectionFailure(now < deadline ? .connect : .timeout, lastWords))
    }

    /// Returns 0 if the socket is connected, `EINPROGRESS` while it is connecting, and otherwise the error.
    private static func state(of socket: OwnedSocket) -> CInt {
        var entry = pollfd(fd: socket.descriptor, events: Int16(POLLOUT), revents: 0)
        guard poll(&entry, 1, 0) > 0 else { return EINPROGRESS }
        var code: CInt = 0
        var length = socklen_t(MemoryLayout<CInt>.size)
        guard getsockopt(socket.descriptor, SOL_SOCKET, SO_ERROR, &code, &length) == 0 else { return errno }
        return code
    }
}

/// An address that a socket can connect to.
struct SocketAddress: Sendable {
    let family: CInt
    private let bytes: [UInt8]

    init?(_ entry: addrinfo) {
        guard let address = entry.ai_addr, entry.ai_addrlen > 0 else { return nil }
        family = entry.ai_family
        bytes = Array(UnsafeRawBufferPointer(start: address, count: Int(entry.ai_addrlen)))
    }

    /// `nil` for families other than IPv4 and IPv6.
    var internetAddress: DestinationAddress? {
        bytes.withUnsafeBytes { bytes in
            bytes.baseAddress.flatMap { DestinationAddress(family: family, at: $0, length: bytes.count) }
        }
    }

    func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result? {
        bytes.withUnsafeBytes { bytes in
            bytes.baseAddress.map { start in
                body(start.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
            }
        }
    }
}

/// A socket that is closed with its last reference.
final class OwnedSocket {
    let descriptor: CInt

    /// Takes ownership of the descriptor.
    init(owning descriptor: CInt) { self.descriptor = descriptor }

    deinit { close(descriptor) }
}
