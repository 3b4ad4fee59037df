import Foundation

/// Reads the lines of a file one after another, with a bounded amount of memory.
struct LineReader {
    /// A line with its number, counted from 1.
    struct Line {
        let number: Int
        /// The bytes without the line's end; `nil` if the line is longer than the limit.
        let bytes: [UInt8]?
    }

    private let file: FileHandle
    private let limit: Int
    private var buffer: [UInt8] = []
    private var start = 0
    private var number = 0
    private var isAtEnd = false

    private static let piece = 1 << 16

    /// Opens a file; a line above `limit` bytes is skipped.
    ///
    /// `nil` if the file cannot be read.
    init?(path: String, limit: Int) {
        guard let file = FileHandle(forReadingAtPath: path) else { return nil }
        self.file = file
        self.limit = limit
    }

    /// Returns the next line; `nil` at the end of the file.
    mutating func next() throws -> Line? {
        var isTooLong = false
        while true {
            if let end = buffer[start...].firstIndex(of: UInt8(ascii: "\n")) {
                defer { start = end + 1 }
                return line(isTooLong || end - start > limit ? nil : Array(buffer[start..<end]))
            }
            if buffer.count - start > limit {
                isTooLong = true
                (buffer, start) = ([], 0)
            }
            guard !isAtEnd else {
                guard start < buffer.count || isTooLong else { return nil }
                defer { (buffer, start) = ([], 0) }
                return line(isTooLong ? nil : Array(buffer[start...]))
            }
            buffer.removeFirst(start)
            start = 0
            guard let piece = try file.read(upToCount: Self.piece), !piece.isEmpty else {
                isAtEnd = true
                continue
            }
            buffer.append(contentsOf: piece)
        }
    }

    private mutating func line(_ bytes: [UInt8]?) -> Line {
        number += 1
        return Line(number: number, bytes: bytes)
    }
}
