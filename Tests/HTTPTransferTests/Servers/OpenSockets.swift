import Foundation

/// What this process holds open.
enum OpenSockets {
    /// Descriptors of any kind.
    static var descriptors: Int { entries("/proc/self/fd").count }

    /// Sockets of this process that are connected to `port`.
    static func count(connectedTo port: UInt16) -> Int {
        entries("/proc/self/fd").compactMap { CInt($0) }.filter { peerPort(of: $0) == port }.count
    }

    /// Sockets of any process on this machine that lead to `port` over version 4, or try to.
    static func count(leadingTo port: UInt16) -> Int {
        let suffix = String(format: ":%04X", Int(port))
        // To be read in pieces, of which Foundation's strings take the first.
        let table = try? FileHandle(forReadingAtPath: "/proc/net/tcp")?.readToEnd()
        return String(decoding: table ?? Data(), as: UTF8.self).split(separator: "\n").count { line in
            let words = line.split(separator: " ")
            return words.count > 2 && words[2].hasSuffix(suffix)
        }
    }

    /// Threads of this process.
    static var threads: Int { entries("/proc/self/task").count }

    private static func entries(_ folder: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    }

    private static func peerPort(of descriptor: CInt) -> UInt16? {
        var address = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutableBytes(of: &address) { bytes in
            guard let start = bytes.baseAddress,
                getpeername(descriptor, start.assumingMemoryBound(to: sockaddr.self), &length) == 0,
                length >= MemoryLayout<sockaddr_in>.size
            else { return nil }
            return UInt16(bigEndian: bytes.load(fromByteOffset: 2, as: UInt16.self))
        }
    }
}
