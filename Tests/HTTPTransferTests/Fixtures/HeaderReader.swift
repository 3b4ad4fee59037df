import CNGHTTP2

/// A reader for a client's header blocks.
///
/// It must read them in order, since their compression depends on earlier blocks.
final class HeaderReader {
    /// Each field as `name: value`.
    typealias Fields = [String]

    private let inflater: OpaquePointer?

    init() {
        var inflater: OpaquePointer?
        nghttp2_hd_inflate_new(&inflater)
        self.inflater = inflater
    }

    deinit {
        nghttp2_hd_inflate_del(inflater)
    }

    /// Returns the fields of a block.
    ///
    /// Reading stops at the first malformed field.
    func read(_ block: [UInt8]) -> Fields {
        var fields: Fields = []
        block.withUnsafeBufferPointer { block in
            guard var start = block.baseAddress else { return }
            let end = start + block.count
            while true {
                var field = nghttp2_nv()
                var flags: CInt = 0
                let count = nghttp2_hd_inflate_hd2(inflater, &field, &flags, start, end - start, 1)
                guard count >= 0 else { return }
                start += count
                if flags & CInt(NGHTTP2_HD_INFLATE_EMIT.rawValue) != 0 { fields.append(Self.text(field)) }
                guard flags & CInt(NGHTTP2_HD_INFLATE_FINAL.rawValue) == 0, count > 0 || flags != 0 else { break }
            }
            nghttp2_hd_inflate_end_headers(inflater)
        }
        return fields
    }

    private static func text(_ field: nghttp2_nv) -> String {
        let name = String(decoding: UnsafeBufferPointer(start: field.name, count: field.namelen), as: UTF8.self)
        let value = String(decoding: UnsafeBufferPointer(start: field.value, count: field.valuelen), as: UTF8.self)
        return "\(name): \(value)"
    }
}
