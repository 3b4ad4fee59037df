import Foundation

/// Sockets on this machine for tests.
enum TestSocket {
    struct Failure: Error {
        let call: String
        let reason: Int32
    }

    enum Address {
        /// The address 127.0.0.1.
        case v4
        /// The address ::1.
        case v6
    }

    /// Returns a bound, listening socket and the port that the kernel chose.
    static func listening(_ address: Address = .v4, backlog: CInt) throws -> (descriptor: CInt, port: UInt16) {
        let (descriptor, port) = try bound(address)
        guard listen(descriptor, backlog) == 0 else { throw Failure(call: "listen", reason: errno) }
        return (descriptor, port)
    }

    /// Returns a port on which no program listens.
    static func unusedPort() throws -> UInt16 {
        let (descriptor, port) = try bound(.v4)
        close(descriptor)
        return port
    }

    /// Starts connection attempts that fill the queue of a listener which accepts no connection.
    ///
    /// From then on the kernel drops further attempts.
    static func filling(_ port: UInt16) -> [CInt] {
        (0..<8).map { _ in connecting(to: port) }
    }

    /// Whether a program accepts connections on `port`.
    static func accepts(port: UInt16) -> Bool {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        return withAddress(.v4, port) { connect(descriptor, $0, $1) } == 0
    }

    /// Starts a connection attempt without waiting for its success.
    private static func connecting(to port: UInt16) -> CInt {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_NONBLOCK.rawValue), 0)
        withAddress(.v4, port) { _ = connect(descriptor, $0, $1) }
        return descriptor
    }

    private static func bound(_ address: Address) throws -> (descriptor: CInt, port: UInt16) {
        let family = address == .v4 ? AF_INET : AF_INET6
        let descriptor = socket(family, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Failure(call: "socket", reason: errno) }
        guard withAddress(address, 0, { bind(descriptor, $0, $1) }) == 0 else {
            throw Failure(call: "bind", reason: errno)
        }
        var bound = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let port: UInt16? = withUnsafeMutableBytes(of: &bound) { bytes in
            guard let start = bytes.baseAddress,
                getsockname(descriptor, start.assumingMemoryBound(to: sockaddr.self), &length) == 0
            else { return nil }
            // The port is at the same place in both address families.
            return UInt16(bigEndian: bytes.load(fromByteOffset: 2, as: UInt16.self))
        }
        guard let port else { throw Failure(call: "getsockname", reason: errno) }
        return (descriptor, port)
    }

    @discardableResult
    private static func withAddress<R>(
        _ kind: Address,
        _ port: UInt16,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> R
    ) -> R {
        func call<Address>(_ address: Address) -> R {
            withUnsafePointer(to: address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    body($0, socklen_t(MemoryLayout<Address>.size))
                }
            }
        }
        switch kind {
        case .v4:
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr = in_addr(s_addr: UInt32(0x7f00_0001).bigEndian)
            return call(address)
        case .v6:
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            address.sin6_addr = in6addr_loopback
            return call(address)
        }
    }
}
