/// The rules for the headers that a caller may set.
enum HeaderRules {
    /// Whether `name` is a token and is not reserved for the transport, which alone frames messages.
    ///
    /// A length or an encoding from outside would let one request smuggle in a second.
    static func allowsName(_ name: String) -> Bool {
        guard !name.isEmpty, name.utf8.allSatisfy(ASCII.isToken) else { return false }
        return !reserved.contains { isSame(name, $0) }
    }

    static func isContentType(_ name: String) -> Bool {
        isSame(name, "content-type")
    }

    /// The user agent of requests that set none.
    static let ownName = "bellhop"

    static func isUserAgent(_ name: String) -> Bool {
        isSame(name, "user-agent")
    }

    /// Returns the value without blanks at its ends, which HTTP/2 forbids.
    static func trimmed(_ value: String) -> Substring {
        let isBlank = { (character: Character) in character == " " || character == "\t" }
        guard let last = value.lastIndex(where: { !isBlank($0) }) else { return "" }
        return value[...last].drop(while: isBlank)
    }

    private static let reserved = [
        "connection", "content-length", "expect", "host", "keep-alive", "proxy-connection", "te", "trailer",
        "transfer-encoding", "upgrade",
    ]

    /// Compares names without regard to case; `lowercase` is already in lower case.
    private static func isSame(_ name: String, _ lowercase: String) -> Bool {
        name.utf8.count == lowercase.utf8.count
            && zip(name.utf8, lowercase.utf8).allSatisfy { ASCII.lowercased($0) == $1 }
    }
}
