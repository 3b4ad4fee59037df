/// The body encoding for text that is mostly ASCII (RFC 2045 §6.7): readable characters stay readable, and lines have
/// at most 76 bytes.
enum QuotedPrintable {
    private static let longestLine = 76

    /// Returns the encoded lines with their CR LF; apart from the line ends, they contain only ASCII without control
    /// characters.
    static func encode(_ lines: [String]) -> [UInt8] {
        var output: [UInt8] = []
        for line in lines {
            append(Array(line.utf8), to: &output)
            output += [0x0D, 0x0A]
        }
        return output
    }

    private static func append(_ line: [UInt8], to output: inout [UInt8]) {
        var column = 0
        for (index, byte) in line.enumerated() {
            let isLast = index == line.count - 1
            let unit = isLiteral(byte, isFirst: column == 0, isLast: isLast) ? [byte] : escaped(byte)
            // The last position of a line is reserved for the soft line break.
            if column + unit.count > longestLine - (isLast ? 0 : 1) {
                output += [UInt8(ascii: "="), 0x0D, 0x0A]
                column = 0
                let again = isLiteral(byte, isFirst: true, isLast: isLast) ? [byte] : escaped(byte)
                output += again
                column = again.count
            } else {
                output += unit
                column += unit.count
            }
        }
    }

    /// Returns whether a byte can be written without encoding.
    ///
    /// Blanks at a line's end are lost in transport, a dot at the beginning has a meaning in SMTP, and an F there may
    /// be read as the beginning of "From ".
    private static func isLiteral(_ byte: UInt8, isFirst: Bool, isLast: Bool) -> Bool {
        if isFirst, byte == UInt8(ascii: ".") || byte == UInt8(ascii: "F") { return false }
        if byte == 0x20 || byte == 0x09 { return !isLast }
        return byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: "=")
    }

    private static func escaped(_ byte: UInt8) -> [UInt8] {
        [UInt8(ascii: "="), Hexadecimal.digit(byte >> 4), Hexadecimal.digit(byte & 15)]
    }
}
