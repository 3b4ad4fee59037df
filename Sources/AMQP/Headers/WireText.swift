/// Conversion between text and its bytes on the wire.
///
/// AMQP requires UTF-8, but the broker does not check it, and a dead letter must preserve the bytes that a producer
/// sent.
///
/// A byte `b` that is not part of valid UTF-8 becomes the private code point U+10FF00 + b, and that code point is
/// written back as the one byte. Valid UTF-8 of one of those 128 code points is treated as invalid, byte for byte,
/// which keeps the mapping exact in both directions.
extension String {
    /// Reads any bytes; valid UTF-8 is read unchanged.
    init(wire bytes: UnsafeRawBufferPointer) {
        if bytes.allSatisfy({ $0 < 0x80 }) {
            self = String(decoding: bytes, as: UTF8.self)
        } else if let text = String(validating: bytes, as: UTF8.self), !text.utf8.contains(WireEscape.lead) {
            self = text
        } else {
            self = WireEscape.escaped(bytes)
        }
    }

    /// Calls `body` with the bytes for the wire.
    func withWireBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        if utf8.contains(WireEscape.lead) {
            return WireEscape.unescaped(self).withUnsafeBytes(body)
        }
        var text = self
        return text.withUTF8 { body(UnsafeRawBufferPointer($0)) }
    }
}

private enum WireEscape {
    /// The first byte of every code point from U+100000 on, and therefore of all code points that may need conversion.
    static let lead: UInt8 = 0xf4
    static let base: UInt32 = 0x10ff00
    static let range: ClosedRange<UInt32> = 0x10ff80...0x10ffff

    static func escaped(_ bytes: UnsafeRawBufferPointer) -> String {
        var text = String.UnicodeScalarView()
        var parser = Unicode.UTF8.ForwardParser()
        var iterator = bytes.makeIterator()
        var position = 0
        while true {
            switch parser.parseScalar(from: &iterator) {
            case .emptyInput: return String(text)
            case .valid(let encoded):
                let scalar = Unicode.UTF8.decode(encoded)
                if range.contains(scalar.value) {
                    append(bytes[position..<position + encoded.count], to: &text)
                } else {
                    text.append(scalar)
                }
                position += encoded.count
            case .error(let length):
                append(bytes[position..<position + length], to: &text)
                position += length
            }
        }
    }

    private static func append(_ bytes: Slice<UnsafeRawBufferPointer>, to text: inout String.UnicodeScalarView) {
        text.append(contentsOf: bytes.lazy.compactMap { Unicode.Scalar(base + UInt32($0)) })
    }

    static func unescaped(_ text: String) -> [UInt8] {
        var bytes: [UInt8] = []
        for scalar in text.unicodeScalars {
            if range.contains(scalar.value) {
                bytes.append(UInt8(truncatingIfNeeded: scalar.value))
            } else {
                bytes.append(contentsOf: UTF8.encode(scalar).map(Array.init) ?? [])
            }
        }
        return bytes
    }
}
