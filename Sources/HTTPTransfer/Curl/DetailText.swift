/// Text that libcurl wrote into a buffer of ours, parts of which come from the peer.
enum DetailText {
    /// The text up to its NUL in printable ASCII; anything else becomes a question mark.
    static func printable(_ buffer: UnsafeMutableBufferPointer<CChar>) -> String {
        let bytes = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return String(decoding: bytes.map { $0 == 0x20 || ASCII.isVisible($0) ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
    }
}
