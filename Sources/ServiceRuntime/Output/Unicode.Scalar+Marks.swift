extension Unicode.Scalar {
    /// A mark rather than a letter: it moves a cursor, gives a terminal an order, ends a line, turns the direction of
    /// writing, or is there without being seen.
    ///
    /// Controls of both sets (C0 with DEL, and C1, whose U+009B begins an order like ESC and `[`), separators of lines and
    /// paragraphs, the marks of direction, and invisible ones, which can carry a whole hidden text. The two joiners stay:
    /// families of emoji and Persian are written with them, and they neither move nor turn anything.
    var isMark: Bool {
        switch value {
        case 0..<0x20, 0x7F..<0xA0, 0x61C, 0x180E, 0x200B, 0x200E...0x200F, 0x2028...0x202E, 0x2060...0x206F: true
        case 0xFEFF, 0xFFF9...0xFFFB, 0xE0000...0xE007F: true
        default: false
        }
    }

    /// As JSON writes it: `\u202e`, and two of these beyond the first 65,536.
    var utf16Escaped: String {
        String(self).utf16.map { unit in
            let digits = String(unit, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }.joined()
    }
}
