import Foundation

/// Counts this process's open descriptors, sockets and threads.
enum OpenSockets {
    /// The number of descriptors of any kind.
    static var descriptors: Int { entries("/proc/self/fd").count }

    /// The number of this process's sockets that are connected to `port`.
    static func count(connectedTo port: UInt16) -> Int {
        entries("/proc/self/fd").compactMap { CInt($0) }.filter { peerPort(of: $0) == port }.count
    }

    /// The number of IPv4 sockets of any process on this machine that are connected to `port`, or are connecting to it.
    static func count(leadingTo port: UInt16) -> Int {
        let suffix = String(format: ":%04X", Int(port))
        // The file must be read in pieces. Foundation's strings would read only the first piece.
        let table = try? FileHandle(forReadingAtPath: "/proc/net/tcp")?.readToEnd()
        return String(decoding: table ?? Data(), as: UTF8.self).split(separator: "\n").count { line in
            let words = line.split(separator: " ")
            return words.count > 2 && words[2].hasSuffix(suffix)
        }
    }

    /// The number of this process's threads.
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
