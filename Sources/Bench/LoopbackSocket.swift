import Foundation

/// A TCP connection to a server on this machine.
///
/// It waits for an answer for at most 120 seconds.
final class LoopbackSocket: Sendable {
    private let descriptor: CInt

    /// Connects, or returns `nil` if nothing listens on the port or this process has no file descriptors left.
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
        // A server that shares its processors with other work answers late, and that is part of the measurement.
        var patience = timeval(tv_sec: 120, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        var yes: CInt = 1
        setsockopt(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<CInt>.size))
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Sends bytes.
    ///
    /// Returns false if the connection is broken.
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

    /// Reads bytes into the buffer after the first `start` bytes, and returns their number.
    ///
    /// It is 0 if the connection is broken.
    func receive(into buffer: inout [UInt8], from start: Int) -> Int {
        buffer.withUnsafeMutableBytes { bytes in
            guard let base = bytes.baseAddress, start < bytes.count else { return 0 }
            return max(0, recv(descriptor, base + start, bytes.count - start, 0))
        }
    }
}
