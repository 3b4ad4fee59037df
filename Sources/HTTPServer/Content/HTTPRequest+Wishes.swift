/// The content encodings that a client accepts, and the content that it already has.
extension HTTPRequest {
    /// Whether the client accepts gzip: it names gzip, and not with a weight of zero.
    var takesGzip: Bool {
        elements(of: "Accept-Encoding").contains { element in
            let parts = element.lowercased().filter { $0 != " " }.split(separator: ";")
            return parts.first == "gzip"
                && !parts.dropFirst().contains { $0.hasPrefix("q=") && Double($0.dropFirst(2)) == 0 }
        }
    }

    /// Whether the client already has the bytes of this tag; RFC 9110 requires a weak comparison here.
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
