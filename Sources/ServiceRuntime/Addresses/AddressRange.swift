import Foundation

/// An IPv4 or IPv6 address.
package struct InternetAddress: Hashable, Sendable {
    /// The first half of an IPv6 address, or the whole IPv4 address.
    package let high: UInt64
    /// The second half of an IPv6 address.
    package let low: UInt64
    package let isIPv4: Bool

    private init(high: UInt64, low: UInt64, isIPv4: Bool) {
        self.high = high
        self.low = low
        self.isIPv4 = isIPv4
    }

    package init(ipv4 bits: UInt32) { self.init(high: UInt64(bits), low: 0, isIPv4: true) }

    /// Reads sixteen bytes in network order.
    ///
    /// An IPv4-mapped address (`::ffff:192.0.2.1`) becomes the IPv4 address.
    package init?(ipv6 bytes: some Collection<UInt8>) {
        guard bytes.count == 16 else { return nil }
        let halves = [bytes.prefix(8), bytes.suffix(8)].map { $0.reduce(UInt64(0)) { $0 << 8 | UInt64($1) } }
        if halves[0] == 0, halves[1] >> 32 == 0xFFFF {
            self.init(ipv4: UInt32(truncatingIfNeeded: halves[1]))
        } else {
            self.init(high: halves[0], low: halves[1], isIPv4: false)
        }
    }

    /// Reads `192.0.2.7` or `2001:db8::7`, and the proxies' forms with a port: `192.0.2.7:4711`, `[2001:db8::7]:4711`.
    package init?(_ text: some StringProtocol) {
        let text = text.trimmingCharacters(in: .whitespaces)
        if text.hasPrefix("[") {
            self.init(plain: String(text.dropFirst().prefix { $0 != "]" }))
        } else if text.contains("."), !text.hasPrefix(":"), text.count(where: { $0 == ":" }) == 1 {
            self.init(plain: String(text.prefix { $0 != ":" }))
        } else {
            self.init(plain: text)
        }
    }

    private init?(plain text: String) {
        var four = in_addr()
        var six = in6_addr()
        if inet_pton(AF_INET, text, &four) == 1 {
            self.init(ipv4: UInt32(bigEndian: four.s_addr))
        } else if inet_pton(AF_INET6, text, &six) == 1 {
            self.init(ipv6: withUnsafeBytes(of: &six) { Array($0) })
        } else {
            return nil
        }
    }
}

extension InternetAddress: CustomStringConvertible {
    /// The address in its usual notation.
    package var description: String {
        var bytes: [UInt8] = []
        for half in isIPv4 ? [high << 32] : [high, low] {
            withUnsafeBytes(of: half.bigEndian) { bytes += $0 }
        }
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        inet_ntop(isIPv4 ? AF_INET : AF_INET6, bytes, &text, socklen_t(text.count))
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

/// A range of addresses that begin with the same bits.
package struct AddressRange: Hashable, Sendable {
    private let first: InternetAddress
    private let bits: Int

    /// Reads `10.0.0.0/8`, `fd00::/8`, or a single address.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard let first = parts.first.flatMap({ InternetAddress($0) }), parts.count <= 2 else { return nil }
        let most = first.isIPv4 ? 32 : 128
        guard let bits = parts.count == 2 ? Int(parts[1]) : most, (0...most).contains(bits) else { return nil }
        self.first = first
        self.bits = bits
    }

    package func contains(_ address: InternetAddress) -> Bool {
        guard address.isIPv4 == first.isIPv4 else { return false }
        if first.isIPv4 { return (address.high ^ first.high) >> UInt64(32 - bits) == 0 }
        // A shift by a word's full width gives zero.
        let isSame = (address.high ^ first.high) >> UInt64(max(0, 64 - bits)) == 0
        return isSame && (address.low ^ first.low) >> UInt64(min(64, 128 - bits)) == 0
    }
}
