import Foundation

/// One connection to an HTTP/1.1 server on this machine, for one thread: a request, and then its answer.
///
/// No more than a measurement needs: answers say their length, and bodies are looked at for one number alone.
struct LoadConnection: ~Copyable {
    /// What came back.
    struct Answer {
        let status: Int
        let body: ArraySlice<UInt8>
    }

    private let descriptor: CInt
    private var buffer: [UInt8]

    /// Nil where nobody listens.
    init?(port: UInt16) {
        descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        buffer = [UInt8](repeating: 0, count: 1 << 20)
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
        var patience = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        var yes: CInt = 1
        setsockopt(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<CInt>.size))
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Sends a request and takes its answer; nil where the connection is no good any more.
    mutating func exchange(_ request: [UInt8]) -> Answer? {
        var sent = 0
        while sent < request.count {
            let count = request.withUnsafeBytes { bytes in
                bytes.baseAddress.map { send(descriptor, $0 + sent, bytes.count - sent, CInt(MSG_NOSIGNAL)) }
            }
            guard let count, count > 0 else { return nil }
            sent += count
        }
        return receive()
    }

    private mutating func receive() -> Answer? {
        var filled = 0
        var head: (status: Int, start: Int, length: Int)?
        while true {
            if head == nil { head = Self.head(buffer[..<filled]) }
            if let head, filled >= head.start + head.length {
                return Answer(status: head.status, body: buffer[head.start..<head.start + head.length])
            }
            guard filled < buffer.count else { return nil }
            let count = buffer.withUnsafeMutableBytes { bytes in
                bytes.baseAddress.map { recv(descriptor, $0 + filled, bytes.count - filled, 0) }
            }
            guard let count, count > 0 else { return nil }
            filled += count
        }
    }

    /// Status, where the body begins and how long it is; nil as long as the head is not whole, or says no length.
    private static func head(_ bytes: ArraySlice<UInt8>) -> (status: Int, start: Int, length: Int)? {
        bytes.withUnsafeBytes { bytes in
            guard let end = place(of: "\r\n\r\n", in: bytes) else { return nil }
            let head = UnsafeRawBufferPointer(rebasing: bytes[..<end])
            guard let status = number(in: head, after: place(of: " ", in: head)),
                let length = number(in: head, after: place(of: "Content-Length: ", in: head))
            else { return nil }
            return (status, end, length)
        }
    }

    /// What comes behind a word.
    private static func place(of word: StaticString, in bytes: UnsafeRawBufferPointer) -> Int? {
        let length = word.utf8CodeUnitCount
        guard let base = bytes.baseAddress, bytes.count >= length else { return nil }
        let first = word.utf8Start.pointee
        for start in 0...bytes.count - length where bytes[start] == first {
            if memcmp(base + start, word.utf8Start, length) == 0 { return start + length }
        }
        return nil
    }

    private static func number(in bytes: UnsafeRawBufferPointer, after place: Int?) -> Int? {
        guard let place else { return nil }
        let digits = bytes[place...].prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        return Int(String(decoding: digits.prefix(9), as: UTF8.self))
    }
}
