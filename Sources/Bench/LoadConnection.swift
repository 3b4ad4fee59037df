import Foundation

/// One connection to an HTTP/1.1 server on this machine, for one thread.
///
/// It sends a request and then reads the answer.
///
/// It supports only what a measurement needs: answers must have a length, and a body is searched for one number only.
struct LoadConnection: ~Copyable {
    /// The server's answer.
    struct Answer {
        let status: Int
        let body: ArraySlice<UInt8>
    }

    private let socket: LoopbackSocket
    private var buffer: [UInt8]

    /// Connects, or returns `nil` if nothing listens on the port.
    init?(port: UInt16) {
        guard let socket = LoopbackSocket(port: port) else { return nil }
        self.socket = socket
        buffer = [UInt8](repeating: 0, count: 1 << 20)
    }

    /// Sends a request and reads its answer.
    ///
    /// Returns `nil` if the connection is broken.
    mutating func exchange(_ request: [UInt8]) -> Answer? {
        guard socket.send(request) else { return nil }
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
            let count = socket.receive(into: &buffer, from: filled)
            guard count > 0 else { return nil }
            filled += count
        }
    }

    /// Returns the status, the start of the body and its length, or `nil` if the head is incomplete or has no length.
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

    /// Returns the position after a word.
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
