import Glibc

/// What the sockets of all transports have in common.
enum PeerSocket {
    /// How long sent bytes may stay unacknowledged before the kernel gives the connection up.
    ///
    /// Without it, a peer that vanished would keep its HTTP/2 connection alive for a quarter of an hour, and every
    /// request would be put on it and time out.
    private static let unacknowledgedMilliseconds: UInt32 = 20_000

    /// Not every kind of socket knows this limit; a connection without it is still a connection.
    static func limitUnacknowledged(_ descriptor: CInt) {
        var limit = unacknowledgedMilliseconds
        setsockopt(descriptor, CInt(IPPROTO_TCP), TCP_USER_TIMEOUT, &limit, socklen_t(MemoryLayout<UInt32>.size))
    }

    /// A socket that does not block and sends small writes at once; nil where none is to be had.
    static func open(family: CInt) -> CInt? {
        let kind = CInt(SOCK_STREAM.rawValue) | CInt(bitPattern: SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(family, kind, CInt(IPPROTO_TCP))
        guard descriptor >= 0 else { return nil }
        var yes: CInt = 1
        setsockopt(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<CInt>.size))
        limitUnacknowledged(descriptor)
        return descriptor
    }
}
