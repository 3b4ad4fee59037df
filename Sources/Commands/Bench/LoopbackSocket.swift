import Foundation

/// A TCP connection to a server on this machine that waits no longer than ten seconds for an answer.
final class LoopbackSocket: Sendable {
    private let descriptor: CInt

    /// Nil where nobody listens, or this process may have no more files.
    init?(port: UInt16) {
        descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr = in_addr(s_addr: UInt32(0x7F00_0001).bigEndian)
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { return nil }
        // A server that shares its processors with other work answers late, and is measured all the same.
        var patience = timeval(tv_sec: 120, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        var yes: CInt = 1
        setsockopt(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<CInt>.size))
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// False where the connection is no good any more.
    func send(_ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { bytes in
                bytes.baseAddress.map { Foundation.send(descriptor, $0 + sent, bytes.count - sent, CInt(MSG_NOSIGNAL)) }
            }
            guard let count, count > 0 else { return false }
            sent += count
        }
        return true
    }

    /// How many bytes have come, put behind the first `start`; none where the connection is no good any more.
    func receive(into buffer: inout [UInt8], from start: Int) -> Int {
        buffer.withUnsafeMutableBytes { bytes in
            guard let base = bytes.baseAddress, start < bytes.count else { return 0 }
            return max(0, recv(descriptor, base + start, bytes.count - start, 0))
        }
    }
}
