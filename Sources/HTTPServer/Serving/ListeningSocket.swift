import Glibc
package import ServiceRuntime

/// A bound socket that listens without blocking; it closes with its last reference.
///
/// It is created here and not by a server library, so that its failures can be distinguished.
package final class ListeningSocket: Sendable {
    package let descriptor: Int32
    /// The address, with the real port if port 0 was requested.
    package let address: ListenAddress

    private init(descriptor: Int32, address: ListenAddress) {
        self.descriptor = descriptor
        self.address = address
    }

    deinit { close(descriptor) }

    package static func open(_ address: ListenAddress) throws(HTTPServerError) -> ListeningSocket {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
        var found: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(address.host, String(address.port), &hints, &found)
        defer { if found != nil { freeaddrinfo(found) } }
        guard code == 0, let first = found?.pointee else {
            let words = gai_strerror(code).map { String(cString: $0) } ?? "no address"
            throw HTTPServerError(code: .addressUnusable, address: address, cameBack: words)
        }
        return try open(first, for: address)
    }

    private static func open(_ info: addrinfo, for address: ListenAddress) throws(HTTPServerError) -> ListeningSocket {
        let kind = info.ai_socktype | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(info.ai_family, kind, info.ai_protocol)
        guard descriptor >= 0 else { throw failure(errno, address) }
        var yes: Int32 = 1
        // A port whose last connections still linger may be reused immediately.
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        guard bind(descriptor, info.ai_addr, info.ai_addrlen) == 0, listen(descriptor, 511) == 0 else {
            let code = errno
            close(descriptor)
            throw failure(code, address)
        }
        let bound = ListenAddress(host: address.host, port: port(of: descriptor) ?? address.port)
        return ListeningSocket(descriptor: descriptor, address: bound)
    }

    private static func failure(_ code: Int32, _ address: ListenAddress) -> HTTPServerError {
        let kind: HTTPServerError.Code =
            switch code {
            case EADDRINUSE: .addressTaken
            case EMFILE, ENFILE, ENOMEM, ENOBUFS: .resources
            default: .addressUnusable
            }
        return HTTPServerError(code: kind, address: address, cameBack: String(cString: strerror(code)))
    }

    private static func port(of descriptor: Int32) -> UInt16? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                guard getsockname(descriptor, address, &length) == 0 else { return nil }
                var port = [CChar](repeating: 0, count: 8)
                let code = getnameinfo(address, length, nil, 0, &port, 8, NI_NUMERICSERV)
                guard code == 0 else { return nil }
                return port.withUnsafeBufferPointer { $0.baseAddress.flatMap { UInt16(String(cString: $0)) } }
            }
        }
    }
}
