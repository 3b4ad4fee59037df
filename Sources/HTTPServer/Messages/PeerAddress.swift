import Foundation

/// The network that a client speaks from, as far as one household goes: an IPv4 address, or the first half of an IPv6 one.
///
/// Whoever has one IPv6 address has a whole network of them, and could else count as many clients as it likes.
package struct PeerAddress: Hashable, Sendable {
    private let bits: UInt64

    /// For tests, and for whoever knows the address otherwise.
    package init(ipv4 bits: UInt32) {
        self.bits = UInt64(bits)
    }

    /// The other end of a connected socket; nil where the system does not tell.
    init?(of descriptor: Int32) {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let code = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &length) }
        }
        guard code == 0 else { return nil }
        let bytes = withUnsafeBytes(of: &storage) { Array($0) }
        switch Int32(storage.ss_family) {
        case AF_INET: bits = Self.number(bytes[4..<8])
        case AF_INET6: bits = Self.isMapped(bytes[8..<24]) ? Self.number(bytes[20..<24]) : Self.number(bytes[8..<16])
        default: return nil
        }
    }

    /// An IPv4 client on a socket that takes both kinds: `::ffff:192.0.2.1`.
    private static func isMapped(_ address: ArraySlice<UInt8>) -> Bool {
        address.prefix(10).allSatisfy { $0 == 0 } && address.dropFirst(10).prefix(2).allSatisfy { $0 == 0xFF }
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }
}
