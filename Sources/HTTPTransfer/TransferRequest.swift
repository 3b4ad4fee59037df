import CCurl

/// One HTTP request, complete in memory.
package struct TransferRequest: Sendable {
    package enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
        case put = "PUT"
        case delete = "DELETE"
    }

    package typealias Header = (name: String, value: String)

    package var method: Method

    /// An absolute URL in ASCII, without spaces; `https` unless the transport allows plain HTTP.
    package var url: String

    /// The headers in the order in which they are sent.
    ///
    /// Names and values that could break the framing are rejected before anything is sent. So are the headers that are
    /// reserved for the transport (lengths, encodings and connection control).
    package var headers: [Header]

    /// The body, which is sent with its length, whatever the method; a GET must not have one.
    ///
    /// No content type is added.
    package var body: [UInt8]

    package var timeouts: TransferTimeouts

    package init(
        _ method: Method,
        url: String,
        headers: [Header] = [],
        body: [UInt8] = [],
        timeouts: TransferTimeouts = TransferTimeouts()
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeouts = timeouts
    }

    /// The method, host and port: the only text about a request that may appear in an error.
    var attempt: String { "\(method.rawValue) to \(endpoint)" }

    /// Host and port as libcurl parses the URL, with the scheme's default port.
    private var endpoint: String {
        let unreadable = "an unreadable URL"
        guard let parsed = curl_url() else { return unreadable }
        defer { curl_url_cleanup(parsed) }
        let flags = UInt32(CURLU_NON_SUPPORT_SCHEME)
        guard curl_url_set(parsed, CURLUPART_URL, url, flags) == CURLUE_OK,
            let host = part(CURLUPART_HOST, of: parsed, flags: 0)
        else { return unreadable }
        guard let port = part(CURLUPART_PORT, of: parsed, flags: UInt32(CURLU_DEFAULT_PORT)) else { return host }
        return "\(host):\(port)"
    }

    private func part(_ part: CURLUPart, of url: OpaquePointer, flags: UInt32) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard curl_url_get(url, part, &text, flags) == CURLUE_OK, let text else { return nil }
        defer { curl_free(text) }
        return String(cString: text)
    }
}

/// The time limits of one transfer.
///
/// The clock starts when the transfer leaves the transport's queue.
package struct TransferTimeouts: Hashable, Sendable {
    /// The time from the start to the last byte of the answer.
    package var total: Duration

    /// The time for name look-up, TCP and TLS together; it applies only if a new connection is opened.
    package var connect: Duration

    /// The maximum of any limit, so that arithmetic on instants cannot overflow.
    static let longest = Duration.seconds(86_400)

    package init(total: Duration = .seconds(30), connect: Duration = .seconds(10)) {
        self.total = total
        self.connect = connect
    }
}

/// The rules for the headers that a caller may set.
enum HeaderRules {
    /// Whether `name` is a token and is not reserved for the transport, which alone frames messages.
    ///
    /// A length or an encoding from outside would let one request smuggle in a second.
    static func allowsName(_ name: String) -> Bool {
        guard !name.isEmpty, name.utf8.allSatisfy(ASCII.isToken) else { return false }
        return !reserved.contains { isSame(name, $0) }
    }

    static func isContentType(_ name: String) -> Bool { isSame(name, "content-type") }

    /// The user agent of requests that set none.
    static let ownName = "bellhop"

    static func isUserAgent(_ name: String) -> Bool { isSame(name, "user-agent") }

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
