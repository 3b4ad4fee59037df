/// What a client says of the bytes that it takes, and of those that it has.
extension HTTPRequest {
    /// Whether it takes gzip: names it, and not with a weight of nothing.
    var takesGzip: Bool {
        elements(of: "Accept-Encoding").contains { element in
            let parts = element.lowercased().filter { $0 != " " }.split(separator: ";")
            return parts.first == "gzip"
                && !parts.dropFirst().contains { $0.hasPrefix("q=") && Double($0.dropFirst(2)) == 0 }
        }
    }

    /// Whether it has the bytes of this tag already; RFC 9110 compares weakly here.
    func has(_ tag: EntityTag) -> Bool {
        elements(of: "If-None-Match").contains { $0 == "*" || EntityTag.opaque($0) == EntityTag.opaque(tag.text[...]) }
    }

    private func elements(of name: String) -> [Substring] {
        headers.values(of: name).flatMap { value in
            value.split(separator: ",").map { element in
                let start = element.drop { $0 == " " }
                return start[..<(start.lastIndex { $0 != " " }.map(start.index(after:)) ?? start.startIndex)]
            }
        }
    }
}
