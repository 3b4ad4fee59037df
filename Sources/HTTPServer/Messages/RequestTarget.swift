/// What a request line asks for, split first and decoded after, so that `%2F` inside a segment stays inside of it.
package struct RequestTarget: Sendable, Equatable {
    /// One `name=value` of a query.
    package struct QueryItem: Sendable, Equatable {
        package let name: String
        package let value: String
    }

    /// The path's segments, decoded: `/a%20b/c` is `["a b", "c"]`, `/` is `[""]`.
    package let segments: [String]
    package let query: [QueryItem]

    /// Nil for what is no path, an escape that is none, bytes that are no UTF-8, or a NUL.
    package init?(_ text: String) {
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else { return nil }
        let path = Self.withoutOrigin(text[...])
        guard path.hasPrefix("/") else { return nil }
        let parts = path.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let raw = parts[0].dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        let segments = raw.compactMap { Self.decode($0, plusIsSpace: false) }
        guard segments.count == raw.count, let query = Self.items(parts.count > 1 ? parts[1] : "") else { return nil }
        self.segments = segments
        self.query = query
    }

    /// The path of the absolute form that a proxy sends, `http://host/path`.
    private static func withoutOrigin(_ text: Substring) -> Substring {
        guard let scheme = ["http://", "https://"].first(where: { text.lowercased().hasPrefix($0) }) else {
            return text
        }
        let rest = text.dropFirst(scheme.count)
        return rest.firstIndex(of: "/").map { rest[$0...] } ?? "/"
    }

    private static func items(_ text: Substring) -> [QueryItem]? {
        let raw = text.split(separator: "&")
        let items = raw.compactMap { item -> QueryItem? in
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = decode(parts[0], plusIsSpace: true) else { return nil }
            guard let value = decode(parts.count > 1 ? parts[1] : "", plusIsSpace: true) else { return nil }
            return QueryItem(name: name, value: value)
        }
        return items.count == raw.count ? items : nil
    }

    private static func decode(_ text: Substring, plusIsSpace: Bool) -> String? {
        var decoded: [UInt8] = []
        var bytes = text.utf8.makeIterator()
        while let byte = bytes.next() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = bytes.next().flatMap(hexDigit), let low = bytes.next().flatMap(hexDigit) else {
                    return nil
                }
                let value = high << 4 | low
                guard value != 0 else { return nil }
                decoded.append(value)
            case UInt8(ascii: "+") where plusIsSpace: decoded.append(0x20)
            default: decoded.append(byte)
            }
        }
        return String(validating: decoded, as: UTF8.self)
    }

    private static func hexDigit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
