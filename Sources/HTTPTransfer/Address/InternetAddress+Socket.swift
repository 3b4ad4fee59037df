import Glibc

extension InternetAddress {
    /// Reads a socket's address; returns `nil` for families other than IPv4 and IPv6, and for truncated addresses.
    init?(family: CInt, at address: UnsafeRawPointer, length: Int) {
        switch family {
        case AF_INET where length >= MemoryLayout<sockaddr_in>.size:
            self = .v4(UInt32(bigEndian: address.loadUnaligned(as: sockaddr_in.self).sin_addr.s_addr))
        case AF_INET6 where length >= MemoryLayout<sockaddr_in6>.size:
            let bytes = address.loadUnaligned(as: sockaddr_in6.self).sin6_addr
            self = withUnsafeBytes(of: bytes) { bytes in
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
