import Foundation
package import ServiceRuntime
import Synchronization

/// The network of a client, limited to one household: an IPv4 address, or the first half of an IPv6 address.
///
/// The owner of one IPv6 address has a whole network of them, and could otherwise count as any number of clients.
package struct PeerAddress: Hashable, Sendable {
    /// The full address, for comparison with address ranges.
    package let address: InternetAddress

    package init(_ address: InternetAddress) { self.address = address }

    /// Creates the address for tests, and for code that has it from another source.
    package init(ipv4 bits: UInt32) { address = InternetAddress(ipv4: bits) }

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
        let family = Int32(storage.ss_family)
        let address = withUnsafeBytes(of: &storage) { bytes -> InternetAddress? in
            switch family {
            case AF_INET: InternetAddress(ipv4: bytes[4..<8].reduce(0) { $0 << 8 | UInt32($1) })
            case AF_INET6: InternetAddress(ipv6: bytes[8..<24])
            default: nil
            }
        }
        guard let address else { return nil }
        self.init(address)
    }
}

extension HTTPRequest {
    /// Whether the request comes directly from one of these addresses.
    package func isFrom(_ proxies: [AddressRange]) -> Bool {
        guard let peer else { return false }
        return proxies.contains { $0.contains(peer.address) }
    }

    /// Returns the caller's address behind the trusted proxies; `nil` if it cannot be determined.
    ///
    /// Each proxy appends the address of its client to the right of `X-Forwarded-For`. Entries to the left of the first
    /// untrusted address may have been written by any client.
    package func caller(behind proxies: [AddressRange]) -> PeerAddress? {
        guard var caller = peer, !proxies.isEmpty else { return peer }
        let hops = (headers["X-Forwarded-For"] ?? "").split(separator: ",").suffix(32)
        for hop in hops.reversed() {
            guard proxies.contains(where: { $0.contains(caller.address) }), let address = InternetAddress(hop) else {
                return caller
            }
            caller = PeerAddress(address)
        }
        return caller
    }
}

/// Reports once that requests seem to come through a proxy that no setting names.
///
/// All of these requests then count as one caller and share the limits of one address.
package final class ProxyWatch: Sendable {
    private let proxies: [AddressRange]
    private let setting: String
    private let logger: Logger
    private let hasReported = Atomic(false)

    /// Creates it; `setting` is the name of the setting that names the proxies.
    package init(_ proxies: [AddressRange], setting: String, logger: Logger) {
        self.proxies = proxies
        self.setting = setting
        self.logger = logger
    }

    package func look(at request: HTTPRequest) {
        guard request.headers["X-Forwarded-For"] != nil, let peer = request.peer, !request.isFrom(proxies),
            !hasReported.exchange(true, ordering: .relaxed)
        else { return }
        logger.warning(
            "a call with X-Forwarded-For comes from an address that is not a named proxy, counting it as the caller",
            ["address": .text("\(peer.address)"), "setting": .text(setting)]
        )
    }
}
