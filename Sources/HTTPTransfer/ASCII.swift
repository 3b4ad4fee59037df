/// The byte classes of HTTP's grammar (RFC 9110 §5).
enum ASCII {
    static func lowercased(_ byte: UInt8) -> UInt8 {
        byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
    }

    static func isDigit(_ byte: UInt8) -> Bool {
        byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
    }

    /// Whether `byte` is permitted in a header's name.
    static func isToken(_ byte: UInt8) -> Bool {
        byte < 128 && tokens[Int(byte >> 6)] & (1 << UInt64(byte & 63)) != 0
    }

    /// Whether `byte` is permitted in a header's value: any byte except control characters other than tab.
    static func isHeaderValue(_ byte: UInt8) -> Bool {
        (byte >= 0x20 && byte != 0x7f) || byte == 0x09
    }

    /// Whether `byte` is permitted in a URL: visible ASCII.
    static func isVisible(_ byte: UInt8) -> Bool { byte > 0x20 && byte < 0x7f }

    /// One bit for each of the 128 characters.
    private static let tokens: [UInt64] = {
        let symbols = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
        var words: [UInt64] = [0, 0]
        for byte in symbols.utf8 { words[Int(byte >> 6)] |= 1 << UInt64(byte & 63) }
        return words
    }()
}
