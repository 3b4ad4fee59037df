import Glibc

/// An address that a socket can connect to.
struct SocketAddress: Sendable {
    let family: CInt
    private let bytes: [UInt8]

    init?(_ entry: addrinfo) {
        guard let address = entry.ai_addr, entry.ai_addrlen > 0 else { return nil }
        family = entry.ai_family
        bytes = Array(UnsafeRawBufferPointer(start: address, count: Int(entry.ai_addrlen)))
    }

    /// `nil` for families other than IPv4 and IPv6.
    var internetAddress: InternetAddress? {
        bytes.withUnsafeBytes { bytes in
            bytes.baseAddress.flatMap { InternetAddress(family: family, at: $0, length: bytes.count) }
        }
    }

    func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result? {
        bytes.withUnsafeBytes { bytes in
            bytes.baseAddress.map { start in
                body(start.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
            }
        }
    }
}
