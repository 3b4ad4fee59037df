import CMicroHTTPD

/// Collects the header fields of a request and checks that every line of the head is one well-formed field.
///
/// A name must be a token and a value must not contain CR, LF or NUL (RFC 9110 5.5 and 5.6.2). If a program and a proxy
/// in front of it read a malformed line differently, a body may be read as another request.
///
/// libmicrohttpd before 1.0 accepts any text before the first colon as a name, ends a line at a NUL and loses parts of
/// folded lines. It leaves the lines where it received them and overwrites each line break with NUL. A line therefore
/// has to begin two bytes after the previous value. Later releases trim values in place and reject such lines
/// themselves.
struct FieldLines {
    private(set) var headers = HTTPHeaders()
    private var areSound = true
    /// The end of the previous value.
    private var end: UnsafeRawPointer?

    mutating func add(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        if bellhop_keeps_lines, let end, name.baseAddress != end + 2 { areSound = false }
        if !Self.isToken(name) || value.contains(where: Self.breaksLines) { areSound = false }
        end = value.baseAddress.map { UnsafeRawPointer($0 + value.count) }
        headers.add(String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self))
    }

    /// Whether all lines are well-formed.
    ///
    /// It must be read after the last field, while libmicrohttpd keeps the head.
    var areWellFormed: Bool {
        guard areSound, bellhop_keeps_lines, let end else { return areSound }
        // The line break and the empty line after it. The records of the fields follow in the same block of memory.
        return (0..<4).allSatisfy { end.load(fromByteOffset: $0, as: UInt8.self) == 0 }
    }

    private static func isToken(_ name: UnsafeRawBufferPointer) -> Bool {
        !name.isEmpty
            && name.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
                default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
                }
            }
    }

    private static func breaksLines(_ byte: UInt8) -> Bool {
        byte == 0 || byte == 0x0A || byte == 0x0D
    }
}
