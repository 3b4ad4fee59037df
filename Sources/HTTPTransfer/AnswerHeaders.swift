/// The header lines of an answer, stored verbatim and searched on request.
///
/// Most answers of a push provider are never searched for a header, so nothing is parsed in advance.
package struct AnswerHeaders: Sendable {
    /// The maximum size of a header block in bytes; no provider sends longer ones.
    static let longest = 64 * 1024

    /// The lines of the final answer without its status line, each terminated by CR LF or LF.
    private let lines: [UInt8]

    package init(lines: [UInt8]) {
        self.lines = lines
    }

    /// Returns the value of the first header named `name`, ignoring case; `nil` if there is none.
    package subscript(name: String) -> String? {
        let wanted = Array(name.utf8)
        return all.first { Self.isSame($0.name, wanted) }.map { String(decoding: $0.value, as: UTF8.self) }
    }

    /// Returns the values of all headers named `name`, ignoring case, in order.
    package func values(of name: String) -> [String] {
        let wanted = Array(name.utf8)
        return all.filter { Self.isSame($0.name, wanted) }.map { String(decoding: $0.value, as: UTF8.self) }
    }

    private typealias Line = (name: ArraySlice<UInt8>, value: ArraySlice<UInt8>)

    /// The parsed lines; lines without a colon are skipped.
    private var all: some Sequence<Line> {
        lines.split(separator: UInt8(ascii: "\n")).lazy.compactMap { line -> Line? in
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
            return (line[..<colon], Self.trimmed(line[(colon + 1)...]))
        }
    }

    private static func trimmed(_ value: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 || byte == 0x0d }
        let end = value.lastIndex { !isBlank($0) }.map { $0 + 1 } ?? value.startIndex
        return value[..<end].drop(while: isBlank)
    }

    private static func isSame(_ name: ArraySlice<UInt8>, _ wanted: [UInt8]) -> Bool {
        name.count == wanted.count && zip(name, wanted).allSatisfy { ASCII.lowercased($0) == ASCII.lowercased($1) }
    }
}
