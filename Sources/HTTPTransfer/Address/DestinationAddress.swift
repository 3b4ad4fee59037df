import Glibc

/// An IP address as a number.
package enum DestinationAddress: Hashable, Sendable {
    case v4(UInt32)

    /// The first and the last eight bytes, each as a big-endian number.
    case v6(high: UInt64, low: UInt64)

    /// Whether the address belongs to the public internet.
    ///
    /// Every range in IANA's registries of special-purpose addresses is rejected: private and shared (CGNAT) networks,
    /// loopback, link-local (including the clouds' metadata services), unique local, documentation, benchmarking,
    /// multicast, reserved, and the IPv6 forms that contain another address (v4-mapped, Teredo, 6to4). The only
    /// exception is NAT64's well-known prefix, through which IPv6-only networks reach public IPv4. It is judged by the
    /// address that it contains.
    package var isPublic: Bool {
        switch self {
        case .v4(let address):
            !Self.specialV4.contains { address >> (32 - $0.bits) == $0.prefix >> (32 - $0.bits) }
        case .v6(Self.nat64, let low) where low >> 32 == 0:
            Self.v4(UInt32(truncatingIfNeeded: low)).isPublic
        case .v6(let high, _):
            high >> 61 == 0b001 && !Self.specialV6.contains { high >> (64 - $0.bits) == $0.prefix >> (64 - $0.bits) }
        }
    }

    /// `64:ff9b::/96`.
    private static let nat64: UInt64 = 0x0064_ff9b_0000_0000

    private static let specialV4: [(prefix: UInt32, bits: UInt32)] = [
        (0x0000_0000, 8),  // 0.0.0.0/8: this network
        (0x0a00_0000, 8),  // 10.0.0.0/8: private
        (0x6440_0000, 10),  // 100.64.0.0/10: shared by carriers (CGNAT); Alibaba's metadata service
        (0x7f00_0000, 8),  // 127.0.0.0/8: loopback
        (0xa83f_8110, 32),  // 168.63.129.16: Azure's platform service
        (0xa9fe_0000, 16),  // 169.254.0.0/16: link-local; most metadata services
        (0xac10_0000, 12),  // 172.16.0.0/12: private
        (0xc000_0000, 24),  // 192.0.0.0/24: protocol assignments; Oracle's metadata service
        (0xc000_0200, 24),  // 192.0.2.0/24: documentation
        (0xc058_6300, 24),  // 192.88.99.0/24: 6to4 relays
        (0xc0a8_0000, 16),  // 192.168.0.0/16: private
        (0xc612_0000, 15),  // 198.18.0.0/15: benchmarking
        (0xc633_6400, 24),  // 198.51.100.0/24: documentation
        (0xcb00_7100, 24),  // 203.0.113.0/24: documentation
        (0xe000_0000, 4),  // 224.0.0.0/4: multicast
        (0xf000_0000, 4),  // 240.0.0.0/4: reserved, broadcast
    ]

    /// Only ranges inside 2000::/3, because no address outside is public.
    private static let specialV6: [(prefix: UInt64, bits: UInt64)] = [
        (0x2001_0000_0000_0000, 23),  // 2001::/23: protocol assignments, Teredo, ORCHID
        (0x2001_0db8_0000_0000, 32),  // 2001:db8::/32: documentation
        (0x2002_0000_0000_0000, 16),  // 2002::/16: 6to4
        (0x3fff_0000_0000_0000, 20),  // 3fff::/20: documentation
    ]

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

/// The addresses that a transport may connect to.
///
/// The policy is applied after the name look-up, to the exact address of the connection.
package enum AddressPolicy: Hashable, Sendable {
    /// Any address; for endpoints from Bellhop's own configuration.
    case any

    /// Only public addresses; for endpoints from untrusted clients (Web Push).
    ///
    /// Such endpoints could otherwise direct Bellhop to machines inside its own network.
    case publicAddressesOnly

    package func allows(_ address: DestinationAddress) -> Bool {
        switch self {
        case .any: true
        case .publicAddressesOnly: address.isPublic
        }
    }
}
