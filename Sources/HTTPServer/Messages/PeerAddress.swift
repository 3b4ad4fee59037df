import Foundation
package import ServiceRuntime

/// The network of a client, limited to one household: an IPv4 address, or the first half of an IPv6 address.
///
/// The owner of one IPv6 address has a whole network of them, and could otherwise count as any number of clients.
package struct PeerAddress: Hashable, Sendable {
    /// The full address, for comparison with address ranges.
    package let address: InternetAddress

    package init(_ address: InternetAddress) {
        self.address = address
    }

    /// Creates the address for tests, and for code that has it from another source.
    package init(ipv4 bits: UInt32) {
        address = InternetAddress(ipv4: bits)
    }

    package static func == (one: PeerAddress, other: PeerAddress) -> Bool {
        (one.address.high, one.address.isIPv4) == (other.address.high, other.address.isIPv4)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(address.high)
        hasher.combine(address.isIPv4)
    }

    /// Reads the other end of a connected socket; returns `nil` if the system does not report it.
    init?(of descriptor: Int32) {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let code = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &length) }
        }
        guard code == 0 else { return nil }
        let bytes = withUnsafeBytes(of: &storage) { Array($0) }
        switch Int32(storage.ss_family) {
        case AF_INET: self.init(ipv4: bytes[4..<8].reduce(0) { $0 << 8 | UInt32($1) })
        case AF_INET6:
            guard let address = InternetAddress(ipv6: bytes[8..<24]) else { return nil }
            self.init(address)
        default: return nil
        }
    }
}
