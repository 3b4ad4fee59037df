import Glibc

/// Socket settings that all transports share.
enum PeerSocket {
    /// The time in milliseconds for which sent bytes may stay unacknowledged before the kernel ends the connection.
    ///
    /// Without this limit, a vanished peer would keep its HTTP/2 connection alive for a quarter of an hour. All
    /// requests on it would time out.
    private static let unacknowledgedMilliseconds: UInt32 = 20_000

    /// Sets the limit.
    ///
    /// Not every kind of socket supports it, and a connection without the limit is still usable.
    static func limitUnacknowledged(_ descriptor: CInt) {
        var limit = unacknowledgedMilliseconds
        setsockopt(descriptor, CInt(IPPROTO_TCP), TCP_USER_TIMEOUT, &limit, socklen_t(MemoryLayout<UInt32>.size))
    }

    /// Opens a socket that does not block and sends small writes immediately; returns `nil` if none is available.
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
