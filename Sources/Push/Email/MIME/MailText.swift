import Foundation

/// Sanitises external texts before they are written into a mail.
enum MailText {
    /// Returns the text as one line, for a subject or a name.
    ///
    /// Line breaks and control characters become one space. Characters that change the reading direction of the
    /// following text are left out, because they could make a name look like another.
    static func line(_ text: String) -> String {
        var line = String.UnicodeScalarView()
        var isSpaceDue = false
        for scalar in text.unicodeScalars {
            if isControl(scalar) || scalar == " " || isLineBreak(scalar) {
                isSpaceDue = !line.isEmpty
            } else if !turnsDirection(scalar) {
                if isSpaceDue { line.append(" ") }
                isSpaceDue = false
                line.append(scalar)
            }
        }
        return String(line)
    }

    /// Returns the lines of the text, one paragraph each; control characters except the tab are left out.
    static func lines(_ text: String) -> [String] {
        var lines = [String.UnicodeScalarView()]
        var before: Unicode.Scalar = " "
        for scalar in text.unicodeScalars {
            if isLineBreak(scalar) {
                if !(scalar == "\n" && before == "\r") { lines.append(String.UnicodeScalarView()) }
            } else if scalar == "\t" || !isControl(scalar) {
                lines[lines.count - 1].append(scalar)
            }
            before = scalar
        }
        return lines.map(String.init)
    }

    /// Returns whether a scalar is a control character (C0, DEL, C1), a byte order mark or a noncharacter.
    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) || scalar.value == 0xFEFF
            || scalar.properties.isNoncharacterCodePoint
    }

    private static func isLineBreak(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x0A, 0x0B, 0x0C, 0x0D, 0x85, 0x2028, 0x2029: true
        default: false
        }
    }

    /// Returns whether a scalar is an embedding, override, isolate or mark of direction.
    private static func turnsDirection(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}

extension String {
    /// The text without white space at its ends.
    var trimmed: String { trimmingCharacters(in: .whitespacesAndNewlines) }
}

/// The hexadecimal digits of quoted-printable and URLs.
enum Hexadecimal {
    static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }
}
