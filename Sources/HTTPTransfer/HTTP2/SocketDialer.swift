import Glibc

/// Connects a socket to the first of several addresses that answers, without blocking.
///
/// Confined to the loop's thread. The time that is left is shared out evenly among the addresses that are left.
final class SocketDialer {
    enum Progress {
        case pending
        /// The socket is the caller's from now on.
        case connected(CInt)
        case failed(TransferError.Code, String)
    }

    private var addresses: ArraySlice<SocketAddress>
    private let deadline: ContinuousClock.Instant
    private(set) var attemptDeadline: ContinuousClock.Instant
    private(set) var descriptor: CInt = -1
    private var lastWords = "no address"

    /// `deadline` is that of the whole connection.
    init(_ addresses: [SocketAddress], policy: AddressPolicy, deadline: ContinuousClock.Instant) {
        let allowed = addresses.filter { policy == .any || $0.internetAddress.map(policy.allows) == true }
        self.addresses = allowed[...]
        self.deadline = deadline
        attemptDeadline = deadline
    }

    deinit {
        if descriptor >= 0 { Glibc.close(descriptor) }
    }

    /// Every address is one that the policy forbids.
    var isEmpty: Bool { addresses.isEmpty && descriptor < 0 }

    /// Goes on; called when the socket can be written, and when an attempt's time is over.
    func advance(now: ContinuousClock.Instant) -> Progress {
        if descriptor >= 0 {
            switch state(of: descriptor) {
            case 0: return .connected(release())
            case EINPROGRESS where now < attemptDeadline: return .pending
            case EINPROGRESS: lastWords = "no answer in time"
            case let code: lastWords = String(cString: strerror(code))
            }
            Glibc.close(release())
        }
        while let address = addresses.popFirst() {
            guard now < deadline else { return .failed(.timeout, "no answer in time") }
            guard let socket = PeerSocket.open(family: address.family) else {
                lastWords = String(cString: strerror(errno))
                continue
            }
            let result = address.withPointer { Glibc.connect(socket, $0, $1) } ?? -1
            if result == 0 || errno == EINPROGRESS {
                descriptor = socket
                attemptDeadline = now + (deadline - now) / (addresses.count + 1)
                return result == 0 ? .connected(release()) : .pending
            }
            lastWords = String(cString: strerror(errno))
            Glibc.close(socket)
        }
        return .failed(now < deadline ? .connect : .timeout, lastWords)
    }

    private func release() -> CInt {
        defer { descriptor = -1 }
        return descriptor
    }

    /// 0 once it is connected, `EINPROGRESS` while it is not, else why it will not be.
    private func state(of descriptor: CInt) -> CInt {
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        guard poll(&entry, 1, 0) > 0 else { return EINPROGRESS }
        var code: CInt = 0
        var length = socklen_t(MemoryLayout<CInt>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length) == 0 else { return errno }
        return code
    }
}
