import CCurl
import Glibc

/// Opens the sockets of a transport's connections, after the address policy has seen where they lead.
enum SocketOpener {
    /// nil if the policy forbids the address.
    static func open(_ target: UnsafeMutablePointer<curl_sockaddr>, policy: AddressPolicy) -> curl_socket_t? {
        guard policy == .any || internetAddress(target).map(policy.allows) == true else { return nil }
        let kind = target.pointee.socktype | CInt(bitPattern: SOCK_CLOEXEC.rawValue)
        let descriptor = socket(target.pointee.family, kind, target.pointee.protocol)
        guard descriptor >= 0 else { return CURL_SOCKET_BAD }
        PeerSocket.limitUnacknowledged(descriptor)
        return descriptor
    }

    /// libcurl's structure ends in a socket address that may be longer than its declared type; `addrlen` says how long.
    private static func internetAddress(_ target: UnsafeMutablePointer<curl_sockaddr>) -> InternetAddress? {
        guard let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr) else { return nil }
        return InternetAddress(
            family: target.pointee.family,
            at: UnsafeRawPointer(target) + offset,
            length: Int(target.pointee.addrlen)
        )
    }
}
