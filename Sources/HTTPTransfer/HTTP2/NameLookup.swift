import Glibc
import ServiceRuntime

/// Turns hosts into addresses, on a thread of its own for each that is a name, since the resolver blocks.
enum NameLookup {
    enum Answer: Sendable {
        /// In the resolver's order, never empty.
        case found([SocketAddress])
        /// In the resolver's words.
        case failed(String)
    }

    /// The address where `host` is one already; nil where it is a name.
    static func literal(_ destination: Destination) -> Answer? {
        guard case .found(let addresses) = resolve(destination, AI_NUMERICHOST) else { return nil }
        return .found(addresses)
    }

    /// Looks a name up and tells `done`, from a thread of its own.
    static func start(_ destination: Destination, _ done: @escaping @Sendable (Answer) -> Void) {
        NativeThread.start(named: "name-lookup") { done(resolve(destination, AI_ADDRCONFIG)) }
    }

    private static func resolve(_ destination: Destination, _ flags: CInt) -> Answer {
        var hints = addrinfo()
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        hints.ai_protocol = CInt(IPPROTO_TCP)
        hints.ai_flags = flags | AI_NUMERICSERV
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(destination.host, String(destination.port), &hints, &list)
        defer { if list != nil { freeaddrinfo(list) } }
        var addresses: [SocketAddress] = []
        var entry = list
        while code == 0, let current = entry {
            SocketAddress(current.pointee).map { addresses.append($0) }
            entry = current.pointee.ai_next
        }
        guard addresses.isEmpty else { return .found(addresses) }
        return .failed(gai_strerror(code).map { String(cString: $0) } ?? "no address")
    }
}

/// Where a socket can be connected to.
struct SocketAddress: Sendable {
    let family: CInt
    private let bytes: [UInt8]

    fileprivate init?(_ entry: addrinfo) {
        guard let address = entry.ai_addr, entry.ai_addrlen > 0 else { return nil }
        family = entry.ai_family
        bytes = Array(UnsafeRawBufferPointer(start: address, count: Int(entry.ai_addrlen)))
    }

    /// Nil for families that are neither version of IP.
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
