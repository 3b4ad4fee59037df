import CCurl
import Glibc

/// Opens the sockets of a transport's connections, after the address policy has seen where they lead.
enum SocketOpener {
    /// How long sent bytes may stay unacknowledged before the kernel gives the connection up.
    ///
    /// Without it, a peer that vanished would keep its HTTP/2 connection alive for a quarter of an hour, and every
    /// request would be put on it and time out.
    private static let unacknowledgedMilliseconds: UInt32 = 20_000

    /// nil if the policy forbids the address.
    static func open(_ target: UnsafeMutablePointer<curl_sockaddr>, policy: AddressPolicy) -> curl_socket_t? {
        guard policy == .any || internetAddress(target).map(policy.allows) == true else { return nil }
        let kind = target.pointee.socktype | CInt(bitPattern: SOCK_CLOEXEC.rawValue)
        let descriptor = socket(target.pointee.family, kind, target.pointee.protocol)
        guard descriptor >= 0 else { return CURL_SOCKET_BAD }
        var limit = unacknowledgedMilliseconds
        // Not every kind of socket knows this; a connection without it is still a connection.
        setsockopt(descriptor, CInt(IPPROTO_TCP), TCP_USER_TIMEOUT, &limit, socklen_t(MemoryLayout<UInt32>.size))
        return descriptor
    }

    /// libcurl's structure ends in a socket address that may be longer than its declared type; `addrlen` says how long.
    private static func internetAddress(_ target: UnsafeMutablePointer<curl_sockaddr>) -> InternetAddress? {
        guard let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr) else { return nil }
        let address = UnsafeRawPointer(target) + offset
        let length = Int(target.pointee.addrlen)
        switch target.pointee.family {
        case AF_INET where length >= MemoryLayout<sockaddr_in>.size:
            return .v4(UInt32(bigEndian: address.loadUnaligned(as: sockaddr_in.self).sin_addr.s_addr))
        case AF_INET6 where length >= MemoryLayout<sockaddr_in6>.size:
            let bytes = address.loadUnaligned(as: sockaddr_in6.self).sin6_addr
            return withUnsafeBytes(of: bytes) { bytes in
                .v6(
                    high: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self)),
                    low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
                )
            }
        default:
            return nil
        }
    }
}
